//! Rewrites what a case file expects, so that it expects what comes out now.
//!
//! Only what differs is touched: comments, order, style and matchers that still hold stay. A value is replaced in its
//! place; a field or event that came is added behind the last one, one that is gone is taken out.

use std::ops::Range;

use super::compare::{self, Leniency, Path, Step};
use super::expected::Expected;
use super::judge;
use super::{align, values, yaml_text};
use crate::event::{Event, Map, Value};
use crate::settings::yaml::{self, Data, Node};

/// What a case is to expect from now on.
#[derive(Clone, Debug)]
pub struct Update {
    /// Name of the case.
    pub case: String,
    /// What came out.
    pub events: Vec<Event>,
    /// What does not count in it.
    pub leniency: Leniency,
    /// Whether the order of the events does not count.
    pub unordered: bool,
}

/// The text of a case file after these updates. The error says what cannot be rewritten.
pub fn updated(text: &str, updates: &[Update]) -> Result<String, String> {
    let root = yaml::parse(text).map_err(|e| e.message)?;
    let Some(Node { data: Data::List(cases), .. }) = &root else {
        return Err("only files that are a list of cases can be rewritten".into());
    };
    let mut edits = Vec::new();
    for update in updates {
        let case = cases.iter().find(|case| entry(case, "case").is_some_and(|name| scalar(name) == Some(&update.case)));
        let case = case.ok_or_else(|| format!("there is no case `{}`", update.case))?;
        Rewriter { text, leniency: &update.leniency }.case(case, update, &mut edits);
    }
    Ok(apply(text, edits))
}

/// The lines that differ between two texts, each with its number.
pub fn changes(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let pairing = align::ordered(old.len(), new.len(), |o, n| old.get(o) == new.get(n));
    let changed = pairing.pairs.into_iter().filter(|(o, n)| old.get(*o) != new.get(*n));
    let mut lines: Vec<(usize, char, &str)> = Vec::new();
    for (o, n) in changed {
        lines.extend(old.get(o).map(|line| (o, '-', *line)));
        lines.extend(new.get(n).map(|line| (o, '+', *line)));
    }
    lines.extend(pairing.missing.into_iter().filter_map(|o| Some((o, '-', *old.get(o)?))));
    lines.extend(pairing.extra.into_iter().filter_map(|n| Some((n, '+', *new.get(n)?))));
    lines.sort_by_key(|(at, _, _)| *at);
    lines.into_iter().map(|(at, sign, line)| format!("{:>5} {sign} {line}\n", at + 1)).collect()
}

type Edit = (Range<usize>, String);

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in edits {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&new);
        at = range.end.max(at);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

fn pairs(node: &Node) -> &[(Node, Node)] {
    if let Data::Map(pairs) = &node.data { pairs } else { &[] }
}

fn entry<'n>(map: &'n Node, name: &str) -> Option<&'n Node> {
    pairs(map).iter().find(|(key, _)| scalar(key).is_some_and(|key| key == name)).map(|(_, value)| value)
}

fn scalar(node: &Node) -> Option<&String> {
    if let Data::Scalar { text, .. } = &node.data { Some(text) } else { None }
}

/// A list or map that gets and loses children.
struct Container<'n> {
    node: &'n Node,
    /// Bytes of each child, with its key.
    children: Vec<Range<usize>>,
    /// Whether each child goes.
    gone: Vec<bool>,
    /// What comes behind the last one.
    new: Vec<String>,
    /// `- ` before each child in block style.
    dash: &'static str,
}

struct Rewriter<'a> {
    text: &'a str,
    leniency: &'a Leniency,
}

impl Rewriter<'_> {
    fn case(&self, case: &Node, update: &Update, edits: &mut Vec<Edit>) {
        let Some(expect) = entry(case, "expect") else {
            let events: Vec<Value> = update.events.iter().map(|event| self.worth_expecting(event)).collect();
            let children = pairs(case).iter().map(|(key, value)| key.bytes.start..value.bytes.end).collect::<Vec<_>>();
            let gone = vec![false; children.len()];
            let new = vec![format!("expect: {}", yaml_text::flow(&Value::Array(events)))];
            return self.container(&Container { node: case, children, gone, new, dash: "" }, edits);
        };
        let Data::List(items) = &expect.data else {
            let events = update.events.iter().map(|event| self.worth_expecting(event)).collect();
            return edits.push((expect.bytes.clone(), yaml_text::flow(&Value::Array(events))));
        };
        let expected: Vec<Expected> =
            items.iter().map(|item| read(item).unwrap_or(Expected::List(Vec::new()))).collect();
        let compare = |expected: &Expected, event: &Event| compare::event(expected, event, self.leniency);
        let pairing = judge::pair(&expected, &update.events, update.unordered, compare);
        for (e, g) in &pairing.pairs {
            let (Some(item), Some(event)) = (items.get(*e), update.events.get(*g)) else { continue };
            self.event(item, event, edits);
        }
        let extra = pairing.extra.iter().filter_map(|g| update.events.get(*g));
        let container = Container {
            node: expect,
            children: items.iter().map(|item| item.bytes.clone()).collect(),
            gone: (0..items.len()).map(|e| pairing.missing.contains(&e)).collect(),
            new: extra.map(|event| yaml_text::flow(&self.worth_expecting(event))).collect(),
            dash: "- ",
        };
        self.container(&container, edits);
    }

    /// The fields of an event that would be missed, had nobody expected them.
    fn worth_expecting(&self, event: &Event) -> Value {
        let all = Leniency { subset: false, ..self.leniency.clone() };
        let mut map = Map::default();
        for difference in compare::event(&Expected::Map(Vec::new()), event, &all) {
            put(&mut map, &difference.path.0, event.fields());
        }
        Value::Map(map)
    }

    fn event(&self, item: &Node, event: &Event, edits: &mut Vec<Edit>) {
        if read(item).is_some_and(|expected| compare::event(&expected, event, self.leniency).is_empty()) {
            return;
        }
        let Value::Map(worth) = self.worth_expecting(event) else { return };
        if !matches!(item.data, Data::Map(_)) {
            return edits.push((item.bytes.clone(), yaml_text::flow(&Value::Map(worth))));
        }
        let new: Vec<(String, Value)> = worth.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        self.map(item, event.fields(), new, &Path::default(), edits);
    }

    /// `new` are the fields that are added when the file does not name them.
    fn map(&self, node: &Node, got: &Map, new: Vec<(String, Value)>, at: &Path, edits: &mut Vec<Edit>) {
        let pairs = pairs(node);
        let mut gone = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let name = scalar(key).map(String::as_str).unwrap_or_default();
            let path = Path(at.0.iter().cloned().chain([Step::Name(name.to_owned())]).collect());
            let is_ignored = self.leniency.ignore.contains(&path);
            match got.get(name) {
                _ if is_ignored => gone.push(false),
                Some(got) => {
                    self.value(value, got, &path, edits);
                    gone.push(false);
                }
                None => gone.push(!read(value).is_some_and(|expected| expected.wants_absence())),
            }
        }
        let named = |name: &str| pairs.iter().any(|(key, _)| scalar(key).is_some_and(|key| key == name));
        let added = new.into_iter().filter(|(name, _)| !self.leniency.subset && !named(name));
        let added = added.map(|(name, value)| format!("{}: {}", yaml_text::key(&name), yaml_text::flow(&value)));
        let children = pairs.iter().map(|(key, value)| key.bytes.start..value.bytes.end.max(key.bytes.end)).collect();
        self.container(&Container { node, children, gone, new: added.collect(), dash: "" }, edits);
    }

    fn value(&self, node: &Node, got: &Value, path: &Path, edits: &mut Vec<Edit>) {
        let expected = read(node);
        if expected.as_ref().is_some_and(|expected| compare::value(expected, got, self.leniency).is_empty()) {
            return;
        }
        match (&node.data, expected, got) {
            (Data::Map(_), Some(Expected::Map(_)), Value::Map(map)) => {
                let new = map.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
                self.map(node, map, new, path, edits);
            }
            (Data::List(items), _, Value::Array(got)) if items.len() == got.len() => {
                for (at, (item, got)) in items.iter().zip(got).enumerate() {
                    let path = Path(path.0.iter().cloned().chain([Step::Index(at)]).collect());
                    self.value(item, got, &path, edits);
                }
            }
            _ => edits.push((node.bytes.clone(), yaml_text::flow(got))),
        }
    }

    fn container(&self, container: &Container<'_>, edits: &mut Vec<Edit>) {
        let Container { node, children, gone, new, dash } = container;
        if new.is_empty() && !gone.contains(&true) {
            return;
        }
        let is_flow = self.text.get(node.bytes.clone()).is_some_and(|text| text.starts_with(['{', '[']));
        let loses_first_line =
            gone.iter().zip(children).any(|(gone, child)| *gone && !self.starts_its_line(child, dash));
        let nothing_left = new.is_empty() && gone.iter().all(|gone| *gone);
        if is_flow || loses_first_line || nothing_left || children.is_empty() {
            return self.rebuilt(container, edits);
        }
        edits.extend(
            gone.iter()
                .zip(children)
                .filter(|(gone, _)| **gone)
                .map(|(_, child)| (self.line_start(child.start)..self.line_end(child.end), String::new())),
        );
        let (Some(last), false) = (children.last(), new.is_empty()) else { return };
        let column = children.first().map_or(0, |first| first.start - self.line_start(first.start));
        let indent = " ".repeat(column.saturating_sub(dash.len()));
        let at = self.line_end(last.end);
        let mut lines: String = new.iter().map(|new| format!("{indent}{dash}{new}\n")).collect();
        if !self.text.get(..at).is_some_and(|before| before.ends_with('\n')) {
            lines = format!("\n{}", lines.trim_end_matches('\n'));
        }
        edits.push((at..at, lines));
    }

    /// Flow style on one line; edits inside of what is kept are put in.
    fn rebuilt(&self, container: &Container<'_>, edits: &mut Vec<Edit>) {
        let Container { node, children, gone, new, .. } = container;
        let (inside, outside): (Vec<Edit>, Vec<Edit>) = std::mem::take(edits)
            .into_iter()
            .partition(|(range, _)| node.bytes.start <= range.start && range.end <= node.bytes.end);
        *edits = outside;
        let kept = children.iter().zip(gone).filter(|(_, gone)| !**gone).map(|(child, _)| {
            let own = inside.iter().filter(|(range, _)| child.start <= range.start && range.end <= child.end);
            let own =
                own.map(|(range, new)| (range.start - child.start..range.end - child.start, new.clone())).collect();
            apply(self.text.get(child.clone()).unwrap_or_default(), own)
        });
        let all: Vec<String> = kept.chain(new.iter().cloned()).collect();
        let (open, close) = if matches!(node.data, Data::Map(_)) { ('{', '}') } else { ('[', ']') };
        let text = if all.is_empty() { format!("{open}{close}") } else { format!("{open} {} {close}", all.join(", ")) };
        edits.push((node.bytes.clone(), text));
    }

    /// Whether nothing but blanks and its own dash stands before a child on its line.
    fn starts_its_line(&self, child: &Range<usize>, dash: &str) -> bool {
        let before = self.text.get(self.line_start(child.start)..child.start).unwrap_or_default();
        before.strip_suffix(dash).is_some_and(|indent| indent.trim().is_empty())
    }

    fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
    }

    /// The start of the next line.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.find('\n').map_or(self.text.len(), |length| at + length + 1)
    }
}

fn read(node: &Node) -> Option<Expected> {
    values::value(node).ok().and_then(|value| Expected::read(&value).ok())
}

/// Copies the value at a path.
fn put(into: &mut Map, path: &[Step], from: &Map) {
    let Some((Step::Name(name), rest)) = path.split_first() else { return };
    match from.get(name) {
        Some(Value::Map(inner)) if !rest.is_empty() => {
            if !into.contains_key(name) {
                into.insert(name.as_str(), Value::Map(Map::default()));
            }
            if let Some(Value::Map(into)) = into.get_mut(name) {
                put(into, rest, inner);
            }
        }
        Some(value) => {
            into.insert(name.as_str(), value.clone());
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::typed_event;

    fn event(yaml: &str) -> Event {
        match values::value(&yaml::parse(yaml).unwrap().unwrap()).unwrap() {
            Value::Map(map) => {
                let mut event = typed_event(map).unwrap();
                event.fields_mut().remove("@timestamp");
                event
            }
            other => panic!("{other:?}"),
        }
    }

    fn rewritten(text: &str, events: &[&str]) -> String {
        let events = events.iter().map(|yaml| event(yaml)).collect();
        let update = Update { case: "c".into(), events, leniency: Leniency::default(), unordered: false };
        let new = updated(text, &[update]).unwrap();
        assert!(yaml::parse(&new).is_ok(), "{new}");
        new
    }

    #[test]
    fn a_value_is_replaced_in_its_place() {
        let text = "# head\n- case: c\n  expect: [ { verb: GET, status: 200 } ]   # keep me\n- case: d\n";
        assert_eq!(
            rewritten(text, &["{verb: GET, status: '200'}"]),
            "# head\n- case: c\n  expect: [ { verb: GET, status: \"200\" } ]   # keep me\n- case: d\n"
        );
        let block = "- case: c\n  expect:\n    - verb: GET # one\n      list:\n        - 1\n        - a # two\n";
        assert_eq!(
            rewritten(block, &["{verb: GET, list: [1, b]}"]),
            "- case: c\n  expect:\n    - verb: GET # one\n      list:\n        - 1\n        - \"b\" # two\n"
        );
    }

    #[test]
    fn fields_come_and_go() {
        let flow = "- case: c\n  expect: [ { a: 1, b: { x: 1 }, n: {$exists: true} } ]\n";
        assert_eq!(
            rewritten(flow, &["{b: {x: 2, y: z}, n: 5, d: 1.5}"]),
            "- case: c\n  expect: [ { b: { x: 2, y: \"z\" }, n: {$exists: true}, d: 1.5 } ]\n"
        );
        let block = "- case: c\n  expect:\n    - a: 1\n      b: 2 # two\n      c: 3\n  why: w\n";
        assert_eq!(
            rewritten(block, &["{a: 1, c: 3, d: {e: 4}}"]),
            "- case: c\n  expect:\n    - a: 1\n      c: 3\n      d: { e: 4 }\n  why: w\n"
        );
        assert_eq!(rewritten(block, &["{b: 2, c: 3}"]), "- case: c\n  expect:\n    - { b: 2, c: 3 }\n  why: w\n");
    }

    #[test]
    fn matchers_that_hold_stay_and_others_give_way() {
        let text =
            "- case: c\n  expect: [ { a: {$re: '^x'}, b: {$type: int}, c: {$absent: true}, d: {$absent: true} } ]\n";
        assert_eq!(
            rewritten(text, &["{a: xyz, b: q, d: 1}"]),
            "- case: c\n  expect: [ { a: {$re: '^x'}, b: \"q\", c: {$absent: true}, d: 1 } ]\n"
        );
    }

    #[test]
    fn events_come_and_go() {
        let block = "- case: c\n  expect:\n    - { n: 1 } # one\n    - { n: 2 }\n    - { n: 3 }\n  why: w\n";
        assert_eq!(
            rewritten(block, &["{n: 1}", "{n: 3}"]),
            "- case: c\n  expect:\n    - { n: 1 } # one\n    - { n: 3 }\n  why: w\n"
        );
        assert_eq!(
            rewritten(block, &["{n: 1}", "{n: 2}", "{n: 3}", "{n: 4}"]),
            "- case: c\n  expect:\n    - { n: 1 } # one\n    - { n: 2 }\n    - { n: 3 }\n    - { n: 4 }\n  why: w\n"
        );
        assert_eq!(rewritten(block, &[]), "- case: c\n  expect:\n    []\n  why: w\n");
        assert_eq!(rewritten("- {case: c, expect: []}", &["{n: 1}"]), "- {case: c, expect: [ { n: 1 } ]}");
    }

    #[test]
    fn changed_lines_are_shown_with_their_numbers() {
        assert_eq!(changes("a\nb\nc\n", "a\nB\nc\n"), "    2 - b\n    2 + B\n");
        assert_eq!(changes("a\nc\n", "a\nb\nc\n"), "    2 + b\n");
        assert_eq!(changes("a\n", "a\n"), "");
    }

    #[test]
    fn what_is_not_there_is_added() {
        assert_eq!(
            rewritten("- case: c\n  why: w\n", &["{n: 1, '@version': '1', host: h}"]),
            "- case: c\n  why: w\n  expect: [{ n: 1 }]\n"
        );
        assert_eq!(rewritten("- { case: c }\n", &["{n: 1}"]), "- { case: c, expect: [{ n: 1 }] }\n");
        assert_eq!(rewritten("- case: c", &["{n: 1}"]), "- case: c\n  expect: [{ n: 1 }]");
    }
}
