//! What must, and must not, appear in what a program said.

use spillway::event::json::{Numbers, Reader};
use spillway::event::{Map, Text, Value};
use spillway::testing::compare::{self, Leniency};
use spillway::testing::expected::Expected;

use super::program::{Said, plain};
use super::world::World;

/// An unoptimised program is allowed so many times as long.
const SLOWNESS: u128 = if cfg!(debug_assertions) { 10 } else { 1 };

/// The checks of one step.
pub struct Checks<'a> {
    step: &'a Map,
    world: &'a World,
}

impl<'a> Checks<'a> {
    pub fn of(step: &'a Map, world: &'a World) -> Self {
        Self { step, world }
    }

    /// The error says which one does not hold.
    pub fn hold(&self, said: &Said) -> Result<(), String> {
        if let Some(Value::Integer(status)) = self.step.get("exit")
            && said.status.map(i64::from) != Some(*status)
        {
            return Err(format!("expected exit {status}, got {:?}", said.status));
        }
        self.in_order("out", &said.out)?;
        self.in_order("err", &said.err)?;
        for text in self.texts("absent") {
            if squeezed(&said.out).contains(&text) || squeezed(&said.err).contains(&text) {
                return Err(format!("`{text}` must not appear"));
            }
        }
        if let Some(Value::String(lines)) = self.step.get("lines") {
            let lines = self.world.fill_in(lines);
            if !has_lines(&said.out, &lines) && !has_lines(&said.err, &lines) {
                return Err(format!("these lines do not appear one after the other:\n{lines}"));
            }
        }
        if let Some(Value::Map(paths)) = self.step.get("json") {
            json(paths, &said.out)?;
        }
        match self.step.get("within_ms") {
            Some(Value::Integer(limit)) if said.took.as_millis() > *limit as u128 * SLOWNESS => {
                Err(format!("took {} ms, more than {limit}", said.took.as_millis()))
            }
            _ => Ok(()),
        }
    }

    fn texts(&self, key: &str) -> Vec<String> {
        let items = self.step.get(key).and_then(Value::as_array).unwrap_or_default();
        items.iter().map(|item| squeezed(&self.world.fill_in(&plain(item)))).collect()
    }

    fn in_order(&self, key: &str, said: &str) -> Result<(), String> {
        let said = squeezed(said);
        let mut rest = said.as_str();
        for text in self.texts(key) {
            let Some(at) = rest.find(&text) else {
                let before = if said.contains(&text) { " behind the texts before it" } else { "" };
                return Err(format!("`{text}` does not appear in std{key}{before}"));
            };
            rest = &rest[at + text.len()..];
        }
        Ok(())
    }
}

/// Runs of blanks count as one.
fn squeezed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !(c == ' ' && out.ends_with(' ')) {
            out.push(c);
        }
    }
    out
}

fn has_lines(text: &str, wanted: &str) -> bool {
    let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    let (text, wanted) = (lines(text), lines(wanted));
    wanted.is_empty() || text.windows(wanted.len()).any(|window| window == wanted)
}

/// Dotted paths and their values in a JSON text: numbers are places in lists.
pub fn json(paths: &Map, text: &str) -> Result<(), String> {
    let text = Text::from(text);
    let parsed = Reader::new(&text, Numbers::Double).next_value().ok().flatten();
    let root = parsed.ok_or("stdout is no JSON")?;
    for (path, expected) in paths.iter() {
        let found = follow(&root, path);
        let found = found.ok_or_else(|| format!("the JSON has no {path}"))?;
        let expected = Expected::read(expected)?;
        if !compare::value(&expected, found, &Leniency::default()).is_empty() {
            return Err(format!("{path}: expected {}, got {found:?}", expected.shown()));
        }
    }
    Ok(())
}

fn follow<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    match value {
        // A name may hold dots itself.
        Value::Map(map) => map.iter().find_map(|(name, inner)| match path.strip_prefix(name.as_str())? {
            "" => Some(inner),
            rest => follow(inner, rest.strip_prefix('.')?),
        }),
        Value::Array(items) => {
            let (at, rest) = path.split_once('.').unwrap_or((path, ""));
            let item = items.get(at.parse::<usize>().ok()?)?;
            if rest.is_empty() { Some(item) } else { follow(item, rest) }
        }
        _ => None,
    }
}
