//! Ruby's regexp syntax to that of this program's engines, construct by construct.

use super::RegexpError;
use super::class::class;
use super::escape::{self, Escape};
use super::quantifier;

/// A pattern for the engines.
#[derive(Debug)]
pub(super) struct Translation {
    /// To be compiled with "multi line" on.
    pub pattern: String,
    /// Whether nothing in it needs backtracking.
    pub linear: bool,
    /// Whether a `^` can match without anything behind it.
    pub empty_line_start: bool,
    /// The name of each capturing group.
    pub names: Vec<Option<String>>,
}

/// Nested groups that are followed by recursion; `fancy-regex` has the same limit.
const MAX_DEPTH: usize = 60;
/// Quantifiers on one atom.
const MOST_QUANTIFIERS: usize = 10;

/// Translates a pattern.
pub(super) fn translate(source: &str, dot_all: bool) -> Result<Translation, RegexpError> {
    let names = group_names(source);
    let has_names = names.iter().any(Option::is_some);
    let groups = if has_names { names.into_iter().filter(Option::is_some).collect() } else { names };
    let mut translator = Translator {
        rest: source,
        out: String::with_capacity(source.len() + 16),
        groups,
        has_names,
        linear: true,
        empty_line_start: false,
        depth: 0,
    };
    let flags = Flags { dot_all, extended: false };
    translator.alternation(flags)?;
    if !translator.rest.is_empty() {
        return Err(RegexpError("unmatched close parenthesis".to_owned()));
    }
    Ok(Translation {
        pattern: translator.out,
        linear: translator.linear,
        empty_line_start: translator.empty_line_start,
        names: translator.groups,
    })
}

/// The capturing groups in order, named or not. Whether unnamed ones capture is known only when all were seen.
fn group_names(source: &str) -> Vec<Option<String>> {
    let mut groups = Vec::new();
    let mut rest = source;
    let mut in_class = 0_usize;
    while let Some(c) = rest.chars().next() {
        let behind = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = behind;
        match c {
            '\\' => rest = behind.get(behind.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default(),
            '[' => {
                in_class += 1;
                // A `]` right behind the opening is one of the class.
                rest = behind.strip_prefix('^').unwrap_or(behind);
                rest = rest.strip_prefix(']').unwrap_or(rest);
            }
            ']' => in_class = in_class.saturating_sub(1),
            '(' if in_class == 0 => match behind.strip_prefix('?') {
                None => groups.push(None),
                Some(kind) => groups.extend(named(kind).map(|(name, _)| Some(name.to_owned()))),
            },
            _ => {}
        }
    }
    groups
}

/// The name of a group that starts with `<name>` or `'name'`, and the text behind it.
fn named(kind: &str) -> Option<(&str, &str)> {
    let (close, inside) = match (kind.strip_prefix('<'), kind.strip_prefix('\'')) {
        (Some(inside), _) if !inside.starts_with(['=', '!']) => ('>', inside),
        (_, Some(inside)) => ('\'', inside),
        _ => return None,
    };
    inside.split_once(close)
}

/// The options that change how a pattern is read; case is left to the engines.
#[derive(Clone, Copy)]
struct Flags {
    dot_all: bool,
    extended: bool,
}

struct Translator<'s> {
    rest: &'s str,
    out: String,
    groups: Vec<Option<String>>,
    has_names: bool,
    linear: bool,
    empty_line_start: bool,
    depth: usize,
}

impl<'s> Translator<'s> {
    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        self.rest.strip_prefix(text).map(|rest| self.rest = rest).is_some()
    }

    /// Alternatives up to `)` or the end. Whether each of them takes at least one character.
    fn alternation(&mut self, mut flags: Flags) -> Result<bool, RegexpError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(RegexpError("groups are nested too deep".to_owned()));
        }
        let mut takes = self.sequence(&mut flags)?;
        let mut options = flags;
        while self.eat("|") {
            self.out.push('|');
            takes &= self.sequence(&mut options)?;
        }
        self.depth -= 1;
        Ok(takes)
    }

    /// A run of atoms. Whether it takes at least one character.
    fn sequence(&mut self, flags: &mut Flags) -> Result<bool, RegexpError> {
        let mut takes = false;
        let mut open_line_start = false;
        loop {
            if flags.extended {
                self.skip_blanks();
            }
            let Some(c) = self.rest.chars().next().filter(|c| !matches!(c, '|' | ')')) else { break };
            if let Some(group) = self.isolated_options(flags)? {
                // `a(?i)b|c` is `a(?i:b|c)`: the options reach to the end of the group, alternatives included.
                self.out.push_str(&group);
                let rest_takes = self.alternation(*flags)?;
                self.out.push(')');
                takes |= rest_takes;
                open_line_start &= !rest_takes;
                break;
            }
            let start = self.out.len();
            let atom_takes = if c == '^' {
                self.take();
                self.out.push('^');
                open_line_start = true;
                false
            } else {
                self.atom(*flags)?
            };
            let at_least_once = self.quantifiers(start, *flags)?;
            if atom_takes && at_least_once {
                takes = true;
                open_line_start = false;
            }
        }
        self.empty_line_start |= open_line_start;
        Ok(takes)
    }

    /// Blanks and comments of `(?x)`.
    fn skip_blanks(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
            let Some(comment) = self.rest.strip_prefix('#') else { return };
            self.rest = comment.find('\n').and_then(|at| comment.get(at..)).unwrap_or_default();
        }
    }

    /// `(?im-x)`: changes the flags and gives the group to open for the engine.
    fn isolated_options(&mut self, flags: &mut Flags) -> Result<Option<String>, RegexpError> {
        let Some(inside) = self.rest.strip_prefix("(?") else { return Ok(None) };
        let letters = inside.find(|c: char| !(c.is_ascii_alphabetic() || c == '-')).unwrap_or(inside.len());
        let (options, behind) = inside.split_at(letters);
        if options.is_empty() || !behind.starts_with(')') {
            return Ok(None);
        }
        let group = read_options(options, flags)?;
        self.rest = behind.get(1..).unwrap_or_default();
        Ok(Some(group))
    }

    /// One atom. Whether it takes at least one character.
    fn atom(&mut self, flags: Flags) -> Result<bool, RegexpError> {
        let Some(c) = self.take() else { return Ok(false) };
        match c {
            '(' => return self.group(flags),
            '[' => {
                let (class, rest) = class(self.rest)?;
                self.out.push_str(&class);
                self.rest = rest;
            }
            '.' => self.out.push_str(if flags.dot_all { "(?s:.)" } else { "." }),
            '$' => {
                self.out.push('$');
                return Ok(false);
            }
            '\\' => return self.escape(),
            '*' | '+' | '?' => {
                return Err(RegexpError("target of repeat operator is not specified".to_owned()));
            }
            c => escape::push_literal(c, &mut self.out),
        }
        Ok(true)
    }

    fn escape(&mut self) -> Result<bool, RegexpError> {
        let (escape, rest) = escape::read(self.rest, self.groups.len())?;
        self.rest = rest;
        match escape {
            Escape::Char(c) => escape::push_literal(c, &mut self.out),
            Escape::Class(class) => {
                self.out.push('[');
                self.out.push_str(&class);
                self.out.push(']');
            }
            Escape::Assertion(text) => {
                self.out.push_str(text);
                return Ok(false);
            }
            Escape::Backtracking(text) => {
                self.linear = false;
                self.out.push_str(text);
                return Ok(false);
            }
            Escape::Number(group) => {
                if self.has_names {
                    return Err(RegexpError("numbered backref/call is not allowed. (use name)".to_owned()));
                }
                self.backreference(&[group])?;
                return Ok(false);
            }
            Escape::Name(name) => {
                let groups = self.groups_named(name)?;
                self.backreference(&groups)?;
                return Ok(false);
            }
            Escape::Call(name) => {
                self.linear = false;
                let groups = if name == "0" { vec![0] } else { self.groups_named(name)? };
                let Some(group) = groups.last() else { return Ok(false) };
                self.out.push_str(&format!("\\g<{group}>"));
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The numbers of the groups of a name; a number is its own.
    fn groups_named(&self, name: &str) -> Result<Vec<usize>, RegexpError> {
        let named = |n: &Option<String>| n.as_deref() == Some(name);
        let groups: Vec<usize> =
            self.groups.iter().enumerate().filter(|(_, n)| named(n)).map(|(at, _)| at + 1).collect();
        if !groups.is_empty() {
            return Ok(groups);
        }
        match name.parse::<usize>() {
            Ok(group) if !self.has_names && group <= self.groups.len() => Ok(vec![group]),
            _ => Err(RegexpError(format!("undefined name <{name}> reference"))),
        }
    }

    fn backreference(&mut self, groups: &[usize]) -> Result<(), RegexpError> {
        if let Some(group) = groups.iter().find(|group| **group > self.groups.len()) {
            return Err(RegexpError(format!("invalid backref number {group}")));
        }
        self.linear = false;
        // The group around it keeps a digit behind it from becoming part of the number. Of several groups of a name
        // the last counts first.
        let numbers: Vec<String> = groups.iter().rev().map(|group| format!("\\{group}")).collect();
        self.out.push_str(&format!("(?:{})", numbers.join("|")));
        Ok(())
    }

    /// What follows `(`. Whether it takes at least one character.
    fn group(&mut self, mut flags: Flags) -> Result<bool, RegexpError> {
        let Some(kind) = self.rest.strip_prefix('?') else {
            self.out.push_str(if self.has_names { "(?:" } else { "(" });
            return self.close(flags, true);
        };
        self.rest = kind;
        if let Some(comment) = kind.strip_prefix('#') {
            let end = comment.find(')').ok_or_else(|| RegexpError("end pattern in group".to_owned()))?;
            self.rest = comment.get(end + 1..).unwrap_or_default();
            return Ok(false);
        }
        for (opening, takes) in
            [(":", true), ("=", false), ("!", false), ("<=", false), ("<!", false), (">", true), ("~", false)]
        {
            if self.eat(opening) {
                self.linear &= opening == ":";
                self.out.push_str("(?");
                self.out.push_str(opening);
                return self.close(flags, takes);
            }
        }
        if let Some((name, behind)) = named(kind) {
            if name.is_empty() {
                return Err(RegexpError("group name is empty".to_owned()));
            }
            if name.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                return Err(RegexpError(format!("invalid group name <{name}>")));
            }
            self.rest = behind;
            self.out.push('(');
            return self.close(flags, true);
        }
        if let Some(condition) = kind.strip_prefix('(') {
            return self.conditional(condition, flags);
        }
        let letters = kind.find(|c: char| !(c.is_ascii_alphabetic() || c == '-')).unwrap_or(kind.len());
        let (options, behind) = kind.split_at(letters);
        let Some(behind) = behind.strip_prefix(':').filter(|_| !options.is_empty()) else {
            return Err(RegexpError("undefined group option".to_owned()));
        };
        let opening = read_options(options, &mut flags)?;
        self.rest = behind;
        self.out.push_str(&opening);
        self.close(flags, true)
    }

    /// `(?(1)a|b)`, `(?(<name>)a|b)`
    fn conditional(&mut self, condition: &'s str, flags: Flags) -> Result<bool, RegexpError> {
        let (name, behind) =
            condition.split_once(')').ok_or_else(|| RegexpError("invalid conditional pattern".to_owned()))?;
        let name = name.trim_matches(['<', '>', '\'']);
        let group = self.groups_named(name)?.pop().unwrap_or(0);
        self.linear = false;
        self.rest = behind;
        self.out.push_str(&format!("(?({group})"));
        self.close(flags, false)
    }

    /// The inside of a group and its `)`.
    fn close(&mut self, flags: Flags, takes: bool) -> Result<bool, RegexpError> {
        let inside_takes = self.alternation(flags)?;
        if !self.eat(")") {
            return Err(RegexpError("end pattern with unmatched parenthesis".to_owned()));
        }
        self.out.push(')');
        Ok(takes && inside_takes)
    }

    /// The quantifiers behind the atom that starts at `start` of the output. Whether it must match at least once.
    fn quantifiers(&mut self, start: usize, flags: Flags) -> Result<bool, RegexpError> {
        let mut at_least_once = true;
        for count in 0.. {
            if flags.extended {
                self.skip_blanks();
            }
            let Some((quantifier, behind)) = quantifier::read(self.rest)? else { break };
            self.rest = behind;
            self.linear &= !quantifier.possessive;
            at_least_once &= quantifier.least > 0;
            // A quantifier of a quantifier repeats the whole: `.?*`.
            if count > 0 {
                self.out.insert_str(start, "(?:");
                self.out.push(')');
            }
            if count > MOST_QUANTIFIERS {
                return Err(RegexpError("too many repeat operators follow each other".to_owned()));
            }
            self.out.push_str(&quantifier.text);
        }
        Ok(at_least_once)
    }
}

/// Reads `im-x`, and gives the group that turns on case folding for the engine.
fn read_options(options: &str, flags: &mut Flags) -> Result<String, RegexpError> {
    let mut on = true;
    let mut fold = None;
    for option in options.chars() {
        match option {
            '-' => on = false,
            'i' => fold = Some(on),
            'm' => flags.dot_all = on,
            'x' => flags.extended = on,
            // Character sets of other encodings: all text here is UTF-8.
            'a' | 'u' | 'd' if on => {}
            _ => return Err(RegexpError(format!("undefined group option `{option}`"))),
        }
    }
    Ok(match fold {
        Some(true) => "(?i:",
        Some(false) => "(?-i:",
        None => "(?:",
    }
    .to_owned())
}
