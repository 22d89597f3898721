//! A dissection, such as `%{ts} %{+ts} %{src->} [%{?key}]=%{&key}`, and the cutting of a text by it.
//!
//! What stands between two fields is a delimiter. A text is walked once from left to right; each field ends where the
//! delimiter behind it is found first, and the last one takes the rest.

use std::ops::Range;

use memchr::memmem::Finder;

use crate::event::{EscapeStyle, FieldRef};

/// A dissection, compiled.
pub(super) struct Dissection {
    /// What the text has to begin with.
    lead: Box<[u8]>,
    /// The fields, from left to right; the last one takes the rest.
    parts: Vec<Part>,
    /// Positions of the parts that are appended, in the order in which that happens.
    append_order: Vec<usize>,
    style: EscapeStyle,
}

/// A field of a dissection.
pub(super) struct Part {
    pub position: usize,
    /// Without prefix and suffixes.
    pub name: String,
    pub kind: Kind,
    /// Whether repeats of the delimiter are passed over.
    is_padded: bool,
    /// What ends it; nothing for the last one.
    delimiter: Delimiter,
}

/// What is done with the text of a field.
pub(super) enum Kind {
    /// Nothing.
    Skip,
    Field(FieldRef),
    /// It is put at the end of what the field has.
    Append {
        field: FieldRef,
        joint: String,
        order: u8,
    },
    /// The field that this one's value names.
    Indirect(FieldRef),
}

struct Delimiter {
    text: Box<[u8]>,
    finder: Finder<'static>,
}

/// Where the values of one text lie.
#[derive(Default)]
pub(super) struct Captures(Vec<Range<usize>>);

impl Captures {
    /// Where the value of a part lies.
    pub fn range(&self, position: usize) -> Range<usize> {
        self.0.get(position).cloned().unwrap_or_default()
    }
}

impl Dissection {
    /// Compiles a dissection; the error says what is wrong with it.
    pub fn compile(pattern: &str, style: EscapeStyle) -> Result<Self, String> {
        let mut rest = pattern;
        let mut lead = "";
        let mut parts: Vec<Part> = Vec::new();
        while let Some((before, field, after)) = next_field(rest) {
            match parts.last_mut() {
                Some(last) => last.delimiter = Delimiter::new(before),
                None => lead = before,
            }
            let part = Part::compile(field, before, parts.len(), style);
            parts.push(part.map_err(|message| format!("{message} in the mapping `{pattern}`"))?);
            rest = after;
        }
        let Some(last) = parts.last_mut() else {
            return Err(format!("the mapping `{pattern}` has no field; write one as %{{name}}"));
        };
        if !rest.is_empty() {
            last.delimiter = Delimiter::new(rest);
            parts.push(Part::invisible(parts.len()));
        }
        let order = |at: &usize| parts.get(*at).map_or(0, |part| part.kind.order().unwrap_or_default());
        let mut append_order: Vec<usize> =
            (0..parts.len()).filter(|at| parts.get(*at).is_some_and(|part| part.kind.order().is_some())).collect();
        append_order.sort_by_key(order);
        Ok(Self { lead: lead.as_bytes().into(), parts, append_order, style })
    }

    /// Cuts a text. Whether it fits.
    pub fn cut(&self, text: &str, captures: &mut Captures) -> bool {
        captures.0.clear();
        let text = text.as_bytes();
        if !text.starts_with(&self.lead) {
            return false;
        }
        let Some((last, parts)) = self.parts.split_last() else { return false };
        let mut at = self.lead.len();
        for part in parts {
            let Some(found) = text.get(at..).and_then(|rest| part.delimiter.find(rest)) else { return false };
            let end = at + found;
            captures.0.push(at..end);
            // A delimiter at the very beginning of the text ends its field but is not passed over: an accident of the
            // original that configurations rest on.
            if end > 0 {
                at = end + part.delimiter.text.len();
            }
            while part.is_padded && text.get(at..).is_some_and(|rest| rest.starts_with(&part.delimiter.text)) {
                at += part.delimiter.text.len();
            }
        }
        debug_assert_eq!(last.position, parts.len());
        captures.0.push(at..text.len());
        true
    }

    /// All fields, from left to right.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter()
    }

    /// The fields that are appended, in the order of their numbers.
    pub fn appended(&self) -> impl Iterator<Item = &Part> {
        self.append_order.iter().filter_map(|at| self.parts.get(*at))
    }

    /// A field of that name which has a value of its own.
    pub fn named(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name && !matches!(part.kind, Kind::Indirect(_)))
    }

    /// How names that come from a text are read.
    pub fn style(&self) -> EscapeStyle {
        self.style
    }
}

/// What stands before the next field, the inside of its braces, and what follows.
fn next_field(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("%{")?;
    let (field, after) = rest.split_once('}')?;
    Some((before, field, after))
}

impl Part {
    fn compile(text: &str, before: &str, position: usize, style: EscapeStyle) -> Result<Self, String> {
        let both = text.starts_with("+&") || text.starts_with("&+");
        if both {
            return Err(format!("Field cannot prefix with both Append and Indirect Prefix: `%{{{text}}}`"));
        }
        let is_unnamed = text.is_empty();
        let (prefix, name) = match text.chars().next() {
            Some(prefix @ ('?' | '+' | '&')) => (Some(prefix), text.get(1..).unwrap_or_default()),
            _ => (None, text),
        };
        let (name, is_padded, order) = without_suffixes(name);
        if name.is_empty() && matches!(prefix, Some('+' | '&')) {
            return Err(format!("the field `%{{{text}}}` has a prefix and no name"));
        }
        let field = || FieldRef::parse(name, style).map_err(|error| error.to_string());
        let kind = match prefix {
            Some('?') => Kind::Skip,
            None if is_unnamed => Kind::Skip,
            Some('+') => {
                let joint = if before.is_empty() { " " } else { before };
                Kind::Append { field: field()?, joint: joint.to_owned(), order: order.unwrap_or(0) }
            }
            Some('&') => Kind::Indirect(field()?),
            _ => Kind::Field(field()?),
        };
        Ok(Self { position, name: name.to_owned(), kind, is_padded, delimiter: Delimiter::new("") })
    }

    /// Takes what follows the last delimiter of a dissection that ends in one.
    fn invisible(position: usize) -> Self {
        Self { position, name: String::new(), kind: Kind::Skip, is_padded: false, delimiter: Delimiter::new("") }
    }
}

/// The name, whether an arrow follows it, and the number behind a slash, both in either order.
fn without_suffixes(mut name: &str) -> (&str, bool, Option<u8>) {
    let (mut is_padded, mut order) = (false, None);
    for _ in 0..2 {
        if let Some(shorter) = name.strip_suffix("->")
            && !is_padded
        {
            (name, is_padded) = (shorter, true);
        } else if let Some((shorter, number)) = name.rsplit_once('/')
            && order.is_none()
            && matches!(number.len(), 1 | 2)
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            (name, order) = (shorter, number.parse().ok());
        }
    }
    (name, is_padded, order)
}

impl Kind {
    fn order(&self) -> Option<u8> {
        match self {
            Self::Append { order, .. } => Some(*order),
            _ => None,
        }
    }
}

impl Delimiter {
    fn new(text: &str) -> Self {
        Self { text: text.as_bytes().into(), finder: Finder::new(text).into_owned() }
    }

    /// Where it is first. Two fields with nothing between them have no border.
    #[inline]
    fn find(&self, text: &[u8]) -> Option<usize> {
        match *self.text {
            [] => None,
            [byte] => memchr::memchr(byte, text),
            _ => self.finder.find(text),
        }
    }
}
