//! YAML text to a tree in which every node knows its bytes, so that messages can show the place.
//!
//! Built from the parser's events instead of its own tree: settings may be given twice (the later one wins), texts
//! must be kept as written (`1.10` is a node name, not a number), and depth is bounded.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

/// Deeper nesting is refused; settings have five levels.
const MAX_DEPTH: usize = 64;
/// More nodes are refused: aliases of aliases grow exponentially.
const MAX_NODES: usize = 1_000_000;

/// A piece of a YAML document.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its bytes in the text.
    pub bytes: Range<usize>,
    /// What it is.
    pub data: Data,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum Data {
    /// One value; `plain` when it had no quotes and no tag, so that it may be null, a number or a boolean.
    Scalar {
        /// As written, quotes and escapes resolved.
        text: String,
        /// Whether it had no quotes and no tag.
        plain: bool,
    },
    /// `[a, b]`.
    List(Vec<Node>),
    /// `{a: b}`, in order of writing, keys as often as they were written.
    Map(Vec<(Node, Node)>),
}

/// A text that is no YAML.
#[derive(Clone, Debug)]
pub struct YamlError {
    /// Where the parser gave up.
    pub at: usize,
    /// What it says.
    pub message: String,
}

/// Reads the first document of a text; `None` when there is nothing in it.
pub fn parse(text: &str) -> Result<Option<Node>, YamlError> {
    let mut builder = Builder { lines: Lines::new(text), open: Vec::new(), anchors: HashMap::new(), nodes: 0 };
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) =
            event.map_err(|e| YamlError { at: builder.lines.byte(*e.marker()), message: e.info().to_owned() })?;
        if let Some(root) = builder.event(event, span)? {
            return Ok(Some(root));
        }
    }
    Ok(None)
}

/// A list or map whose end was not seen yet.
struct Open {
    start: usize,
    anchor: usize,
    is_map: bool,
    children: Vec<Node>,
}

struct Builder<'t> {
    lines: Lines<'t>,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<Option<Node>, YamlError> {
        let start = self.lines.byte(span.start);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let bytes = self.lines.scalar(start..self.lines.byte(span.end), style);
                let node = Node { bytes, data: Data::Scalar { text: text.into_owned(), plain } };
                self.close(node, anchor, 1, start)
            }
            Event::Alias(anchor) => {
                let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
                    return Err(YamlError { at: start, message: "this alias refers to itself".into() });
                };
                self.close(node, 0, size, start)
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if self.open.len() >= MAX_DEPTH {
                    return Err(YamlError { at: start, message: format!("nested deeper than {MAX_DEPTH} levels") });
                }
                let is_map = matches!(event, Event::MappingStart(..));
                self.open.push(Open { start, anchor, is_map, children: Vec::new() });
                Ok(None)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(None) };
                let bytes = self.lines.trimmed(open.start..self.lines.byte(span.end).max(open.start));
                let data = if open.is_map { Data::Map(pairs(open.children)) } else { Data::List(open.children) };
                self.close(Node { bytes, data }, open.anchor, 1, start)
            }
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {
                Ok(None)
            }
        }
    }

    /// Hands a finished node to the list or map it stands in; returns it when it stands in none.
    fn close(&mut self, node: Node, anchor: usize, size: usize, at: usize) -> Result<Option<Node>, YamlError> {
        self.nodes += size;
        if self.nodes > MAX_NODES {
            return Err(YamlError { at, message: format!("more than {MAX_NODES} values") });
        }
        if anchor != 0 {
            let size = count(&node);
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut() {
            Some(open) => open.children.push(node),
            None => return Ok(Some(node)),
        }
        Ok(None)
    }
}

fn count(node: &Node) -> usize {
    match &node.data {
        Data::Scalar { .. } => 1,
        Data::List(items) => 1 + items.iter().map(count).sum::<usize>(),
        Data::Map(pairs) => 1 + pairs.iter().map(|(key, value)| count(key) + count(value)).sum::<usize>(),
    }
}

/// Keys and values follow each other; `<<` takes over the entries of another map, which own entries override.
fn pairs(children: Vec<Node>) -> Vec<(Node, Node)> {
    let (mut merged, mut own) = (Vec::new(), Vec::new());
    let mut children = children.into_iter();
    while let (Some(key), Some(value)) = (children.next(), children.next()) {
        match (&key.data, value.data) {
            (Data::Scalar { text, plain: true }, Data::Map(pairs)) if text == "<<" => merged.extend(pairs),
            (_, data) => own.push((key, Node { bytes: value.bytes, data })),
        }
    }
    merged.retain(|(key, _)| !own.iter().any(|(other, _)| same_text(key, other)));
    merged.append(&mut own);
    merged
}

fn same_text(a: &Node, b: &Node) -> bool {
    matches!((&a.data, &b.data), (Data::Scalar { text: a, .. }, Data::Scalar { text: b, .. }) if a == b)
}

/// Line starts, to turn the parser's lines and columns (in characters) into bytes.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    fn byte(&self, marker: Marker) -> usize {
        let start = self.starts.get(marker.line().saturating_sub(1)).copied().unwrap_or(self.text.len());
        let line = self.text.get(start..).unwrap_or_default();
        start + line.char_indices().nth(marker.col()).map_or(line.len(), |(at, _)| at)
    }

    /// The parser's end of a quoted text may lie behind blanks and a comment.
    fn scalar(&self, bytes: Range<usize>, style: ScalarStyle) -> Range<usize> {
        let (quote, escape) = match style {
            ScalarStyle::DoubleQuoted => ('"', '\\'),
            ScalarStyle::SingleQuoted => ('\'', '\''),
            ScalarStyle::Plain | ScalarStyle::Literal | ScalarStyle::Folded => return self.trimmed(bytes),
        };
        let text = self.text.get(bytes.start..).unwrap_or_default();
        let mut characters = text.char_indices().skip(1).peekable();
        while let Some((at, c)) = characters.next() {
            let doubled = c == escape && (c != quote || characters.peek().is_some_and(|(_, next)| *next == quote));
            if doubled {
                characters.next();
            } else if c == quote {
                return bytes.start..bytes.start + at + c.len_utf8();
            }
        }
        self.trimmed(bytes)
    }

    /// Without the blanks that block values drag along.
    fn trimmed(&self, bytes: Range<usize>) -> Range<usize> {
        let length = self.text.get(bytes.clone()).unwrap_or_default().trim_end().len();
        bytes.start..bytes.start + length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[a, {b: "c"}]` and so on, quotes only where the text had quotes.
    fn shape(node: &Node) -> String {
        match &node.data {
            Data::Scalar { text, plain: true } => text.clone(),
            Data::Scalar { text, plain: false } => format!("{text:?}"),
            Data::List(items) => format!("[{}]", items.iter().map(shape).collect::<Vec<_>>().join(", ")),
            Data::Map(pairs) => {
                let pairs: Vec<_> = pairs.iter().map(|(k, v)| format!("{}: {}", shape(k), shape(v))).collect();
                format!("{{{}}}", pairs.join(", "))
            }
        }
    }

    fn read(text: &str) -> String {
        parse(text).unwrap().map_or("nothing".into(), |node| shape(&node))
    }

    #[test]
    fn shapes() {
        assert_eq!(read(""), "nothing");
        assert_eq!(read("# only a comment\n"), "nothing");
        assert_eq!(read("a: 1.10\nb: 'x'\n"), r#"{a: 1.10, b: "x"}"#);
        assert_eq!(read("- a: {b: [c, \"d\"]}\n"), r#"[{a: {b: [c, "d"]}}]"#);
        assert_eq!(read("a: 1\na: 2\n"), "{a: 1, a: 2}");
        assert_eq!(read("a: |\n  x\n  y\n"), r#"{a: "x\ny\n"}"#);
        assert_eq!(read("- &d {a: 1, b: 2}\n- {<<: *d, b: 3}\n"), "[{a: 1, b: 2}, {a: 1, b: 3}]");
        assert_eq!(read("a: !!str 5"), r#"{a: "5"}"#);
    }

    #[test]
    fn places_are_bytes() {
        let text = "ä: ö\n  \nb:\n  c: \"dé\"  # x\n";
        let root = parse(text).unwrap().unwrap();
        let Data::Map(pairs) = &root.data else { panic!("{root:?}") };
        let Data::Map(inner) = &pairs[1].1.data else { panic!("{root:?}") };
        assert_eq!(&text[pairs[0].0.bytes.clone()], "ä");
        assert_eq!(&text[pairs[0].1.bytes.clone()], "ö");
        assert_eq!(&text[inner[0].0.bytes.clone()], "c");
        assert_eq!(&text[inner[0].1.bytes.clone()], "\"dé\"");
    }

    #[test]
    fn hostile_texts_are_errors() {
        assert!(parse(&"[".repeat(100)).is_err_and(|e| e.message.contains("nested")));
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse("a: &a [*a]").is_err());
        let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for i in 1..20 {
            let alias = format!("*a{},", i - 1).repeat(9);
            laughs.push_str(&format!("a{i}: &a{i} [{alias}]\n"));
        }
        assert!(parse(&laughs).is_err_and(|e| e.message.contains("values")));
        assert!(parse("a: b: c").is_err());
    }
}
