//! A forgiving look at a text that the grammar refuses: its tokens, and which brackets stand open where.

use std::ops::Range;

/// A piece of text that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Letters, digits, `_` and `-`.
    Word,
    /// From quote to quote; `closed` unless the text ended first.
    String {
        closed: bool,
    },
    /// `/…/` behind `=~` or `!~`.
    Regexp,
    /// `{`, `[` or `(`.
    Open(u8),
    /// `}`, `]` or `)`.
    Close(u8),
    /// `=>`
    Arrow,
    Comma,
    /// Any other character.
    Other,
}

/// What an open bracket belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// `filter {`
    Section,
    /// `if … {`, `else {`
    Branch,
    /// `grok {`
    Plugin,
    /// `=> {`
    Hash,
    /// `[`
    List,
    /// `(`
    Group,
}

/// An open bracket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub kind: FrameKind,
    /// The bracket and its token.
    pub bracket: u8,
    pub open: usize,
    /// The first token of what it belongs to: the plugin's name, `if`, the section's name.
    pub head: usize,
}

/// The situation at one place of a text.
#[derive(Debug, Default)]
pub(super) struct Situation {
    /// Open brackets, outermost first.
    pub frames: Vec<Frame>,
    /// The first token of the step that the place is in, when that is not inside a plugin: the plugin's name or `if`.
    pub statement: Option<usize>,
    /// The first token at or behind the place.
    pub next: usize,
}

/// The tokens of a text.
pub(super) struct Outline<'t> {
    pub text: &'t str,
    pub tokens: Vec<Token>,
}

impl<'t> Outline<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, tokens: tokens(text) }
    }

    pub(super) fn token(&self, at: usize) -> Option<Token> {
        self.tokens.get(at).copied()
    }

    pub(super) fn before(&self, at: usize) -> Option<Token> {
        self.token(at.checked_sub(1)?)
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    pub(super) fn word(&self, at: usize) -> &'t str {
        self.token(at).map_or("", |token| self.slice(token.start..token.end))
    }

    /// Which brackets stand open at byte `at`.
    pub(super) fn situation(&self, at: usize) -> Situation {
        let next = self.tokens.partition_point(|token| token.start < at);
        let mut walk = Walk::new(self);
        (0..next).for_each(|token| walk.step(token));
        let inner = walk.frames.iter().rev().find(|f| !matches!(f.kind, FrameKind::Group | FrameKind::List));
        let in_steps = inner.is_none_or(|f| matches!(f.kind, FrameKind::Section | FrameKind::Branch));
        let statement = in_steps.then_some(walk.statement.unwrap_or(next));
        Situation { frames: walk.frames, statement, next }
    }

    /// The frames that are never closed.
    pub(super) fn unclosed(&self) -> Vec<Frame> {
        let mut walk = Walk::new(self);
        (0..self.tokens.len()).for_each(|token| walk.step(token));
        walk.frames
    }

    /// The token that closes the bracket at token `open`.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
        let mut brackets = Vec::new();
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            match token.kind {
                TokenKind::Open(bracket) => brackets.push(bracket),
                TokenKind::Close(bracket) => {
                    brackets.truncate(closed_by(bracket, brackets.iter().copied())?);
                    if brackets.is_empty() {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The brace that opens the body of the step that starts at token `head`.
    pub(super) fn body(&self, head: usize) -> Option<usize> {
        let mut behind = self.tokens.iter().enumerate().skip(head);
        let (at, token) =
            behind.find(|(_, token)| matches!(token.kind, TokenKind::Open(b'{') | TokenKind::Close(b'}')))?;
        (token.kind == TokenKind::Open(b'{')).then_some(at)
    }
}

/// Follows the brackets from the start of the text.
pub(super) struct Walk<'o, 't> {
    outline: &'o Outline<'t>,
    pub frames: Vec<Frame>,
    statement: Option<usize>,
}

impl<'o, 't> Walk<'o, 't> {
    pub(super) fn new(outline: &'o Outline<'t>) -> Self {
        Self { outline, frames: Vec::new(), statement: None }
    }

    /// Whether the place is between the steps of a section or branch, or outside all sections.
    fn in_steps(&self) -> bool {
        self.frames.last().is_none_or(|frame| matches!(frame.kind, FrameKind::Section | FrameKind::Branch))
    }

    pub(super) fn step(&mut self, at: usize) {
        let Some(token) = self.outline.token(at) else { return };
        if self.in_steps() && self.statement.is_none() {
            self.statement = Some(at);
        }
        match token.kind {
            TokenKind::Open(bracket) => {
                let frame = self.classify(bracket, at);
                self.frames.push(frame);
                if self.in_steps() {
                    self.statement = None;
                }
            }
            TokenKind::Close(bracket) => {
                let brackets = self.frames.iter().map(|frame| frame.bracket);
                let left = closed_by(bracket, brackets);
                let closed = left.is_some();
                self.frames.truncate(left.unwrap_or(0));
                let ends_step = bracket == b'}' && self.in_steps();
                self.statement = self.statement.filter(|_| closed && !ends_step);
            }
            _ => {}
        }
    }

    fn classify(&self, bracket: u8, open: usize) -> Frame {
        let before = self.outline.before(open).map(|token| token.kind);
        match bracket {
            b'[' => Frame { kind: FrameKind::List, bracket, open, head: open },
            b'(' => Frame { kind: FrameKind::Group, bracket, open, head: open },
            _ if self.in_steps() => {
                let head = self.statement.unwrap_or(open);
                let kind = match self.outline.word(head) {
                    "input" | "filter" | "output" if self.frames.is_empty() => FrameKind::Section,
                    "if" | "else" | "elsif" | "elseif" | "elif" => FrameKind::Branch,
                    _ => FrameKind::Plugin,
                };
                Frame { kind, bracket, open, head }
            }
            _ if before == Some(TokenKind::Arrow) => Frame { kind: FrameKind::Hash, bracket, open, head: open },
            _ => Frame { kind: FrameKind::Plugin, bracket, open, head: open.saturating_sub(1) },
        }
    }
}

/// How many of the open brackets are left when this one closes. A brace closes what is open inside its block too, the
/// others only their like; `None` when a brace closes nothing.
fn closed_by(close: u8, open: impl DoubleEndedIterator<Item = u8> + ExactSizeIterator) -> Option<usize> {
    let count = open.len();
    let partner = match close {
        b'}' => b'{',
        b']' => b'[',
        _ => b'(',
    };
    let mut inside = open.rev();
    if close == b'}' {
        let skipped = inside.position(|bracket| bracket == partner)?;
        return Some(count - skipped - 1);
    }
    Some(if inside.next() == Some(partner) { count - 1 } else { count })
}

fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let kind = match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b'#' => {
                at = find(bytes, at, b'\n').unwrap_or(bytes.len());
                continue;
            }
            b'"' | b'\'' => {
                let end = closing_quote(bytes, at);
                at = end.map_or(bytes.len(), |end| end + 1);
                TokenKind::String { closed: end.is_some() }
            }
            b'/' if behind_match_operator(&tokens, bytes) => {
                match closing_quote(bytes, at).filter(|end| !slice(bytes, at, *end).contains(&b'\n')) {
                    Some(end) => {
                        at = end + 1;
                        TokenKind::Regexp
                    }
                    None => {
                        at += 1;
                        TokenKind::Other
                    }
                }
            }
            b'{' | b'[' | b'(' => {
                at += 1;
                TokenKind::Open(byte)
            }
            b'}' | b']' | b')' => {
                at += 1;
                TokenKind::Close(byte)
            }
            b',' => {
                at += 1;
                TokenKind::Comma
            }
            b'=' if bytes.get(at + 1) == Some(&b'>') => {
                at += 2;
                TokenKind::Arrow
            }
            _ if is_word(byte) => {
                while bytes.get(at).is_some_and(|b| is_word(*b)) {
                    at += 1;
                }
                TokenKind::Word
            }
            _ => {
                at += 1;
                while !text.is_char_boundary(at) {
                    at += 1;
                }
                TokenKind::Other
            }
        };
        tokens.push(Token { kind, start, end: at });
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn slice(bytes: &[u8], start: usize, end: usize) -> &[u8] {
    bytes.get(start..end).unwrap_or_default()
}

fn find(bytes: &[u8], from: usize, wanted: u8) -> Option<usize> {
    memchr::memchr(wanted, bytes.get(from..)?).map(|at| from + at)
}

/// Where the quote (or slash) at `open` is closed; behind a backslash it is not.
pub(super) fn closing_quote(bytes: &[u8], open: usize) -> Option<usize> {
    let quote = *bytes.get(open)?;
    let mut at = open + 1;
    loop {
        at = find(bytes, at, quote)?;
        // The lexer takes backslash and quote as a pair, whatever stands before the backslash.
        if bytes.get(at - 1) != Some(&b'\\') {
            return Some(at);
        }
        at += 1;
    }
}

fn behind_match_operator(tokens: &[Token], bytes: &[u8]) -> bool {
    tokens.last().is_some_and(|token| bytes.get(token.start) == Some(&b'~'))
}
