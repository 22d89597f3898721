//! A BSD syslog line taken apart: `<34>Oct 11 22:14:15 web1 sshd[42]: text`.
//!
//! It takes and refuses what the pattern `<%{POSINT:priority}>%{SYSLOGLINE}` does, of the old pattern set or of that
//! for ECS, without an engine for patterns: every part of a line ends at a character that cannot belong to it.

use std::net::Ipv6Addr;

/// The parts of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts<'t> {
    pub priority: i64,
    /// The time as written; `iso` tells its form.
    pub time: &'t str,
    pub iso: bool,
    pub host: Option<&'t str>,
    pub program: Option<&'t str>,
    pub pid: Option<&'t str>,
    /// What follows, up to the end of the line.
    pub message: &'t str,
}

/// Which set of patterns: the one for ECS lets host and program be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Old,
    Ecs,
}

/// Finds the first place where a line begins.
pub(super) fn parse(text: &str, dialect: Dialect) -> Option<Parts<'_>> {
    let starts = memchr::memchr_iter(b'<', text.as_bytes());
    starts.filter_map(|start| text.get(start + 1..)).find_map(|rest| parse_here(rest, dialect))
}

fn parse_here(text: &str, dialect: Dialect) -> Option<Parts<'_>> {
    let (priority, rest) = priority(text)?;
    let (time, iso) = match month_time(rest) {
        Some(length) => (length, false),
        None => (iso_time(rest)?, true),
    };
    let (time, rest) = rest.split_at_checked(time)?;
    let parts = Parts { priority, time, iso, ..Parts::default() };
    let rest = rest.strip_prefix(' ')?;
    let whole = |rest| match dialect {
        Dialect::Old => old(rest),
        Dialect::Ecs => Some(ecs(rest)),
    };
    // What stands between time and host on some systems, if the rest of the line goes with it.
    let (host, (program, pid), message) = facility(rest).and_then(whole).or_else(|| whole(rest))?;
    Some(Parts { host, program, pid, message: first_line(message), ..parts })
}

type Sender<'t> = (Option<&'t str>, (Option<&'t str>, Option<&'t str>), &'t str);

/// `HOST PROGRAM[PID]: message` or `HOST message`.
fn old(text: &str) -> Option<Sender<'_>> {
    let (host, rest) = word(text).filter(|(word, _)| is_host(word))?;
    let (program, message) = program(rest).unwrap_or(((None, None), rest));
    Some((Some(host), program, message))
}

/// As [`old`], where both may be missing.
fn ecs(text: &str) -> Sender<'_> {
    let (host, rest) = match word(text).filter(|(word, _)| is_host(word)) {
        Some((host, rest)) => (Some(host), rest),
        None => (None, text),
    };
    let (program, message) = program(rest).unwrap_or(((None, None), rest));
    (host, program, message)
}

/// `34>`: a number that does not begin with a zero.
fn priority(text: &str) -> Option<(i64, &str)> {
    let length = digits(text);
    let (number, rest) = text.split_at_checked(length)?;
    if number.starts_with('0') {
        return None;
    }
    Some((number.parse().ok()?, rest.strip_prefix('>')?))
}

/// Text up to a blank, and what follows the blank.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = memchr::memchr(b' ', text.as_bytes())?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// `<4.6> `: two numbers with any sign between them.
fn facility(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('<')?;
    let rest = inside.get(digits(inside)..).filter(|rest| rest.len() < inside.len())?;
    let sign = rest.chars().next().filter(|sign| !is_word(*sign))?;
    let rest = rest.get(sign.len_utf8()..)?;
    let end = digits(rest);
    if end == 0 { None } else { rest.get(end..)?.strip_prefix("> ") }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\n'
}

type Program<'t> = ((Option<&'t str>, Option<&'t str>), &'t str);

/// `PROGRAM: ` or `PROGRAM[PID]: `, and what follows.
fn program(text: &str) -> Option<Program<'_>> {
    let (word, rest) = word(text)?;
    let word = word.strip_suffix(':')?;
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| matches!(b, 0x21..=0x5a | 0x5c | 0x5e..=0x7e));
    if is_name(word) {
        return Some(((Some(word), None), rest));
    }
    let word = word.strip_suffix(']')?;
    let (name, pid) = word.split_at_checked(memchr::memchr(b'[', word.as_bytes())?)?;
    let pid = pid.strip_prefix('[')?;
    let is_pid = !pid.is_empty() && !pid.starts_with('0') && digits(pid) == pid.len();
    (is_name(name) && is_pid).then_some(((Some(name), Some(pid)), rest))
}

/// Whether a word is an address or the name of a machine.
fn is_host(word: &str) -> bool {
    is_host_name(word.strip_suffix('.').unwrap_or(word)) || is_ipv6(word)
}

/// Whether a word is made of labels between dots: letters, digits and inner hyphens, at most 63.
fn is_host_name(word: &str) -> bool {
    let mut label = 0;
    for byte in word.bytes() {
        match byte {
            b'.' if label > 0 => label = 0,
            b'-' if label > 0 => label += 1,
            _ if byte.is_ascii_alphanumeric() => label += 1,
            _ => return false,
        }
        if label > 63 {
            return false;
        }
    }
    label > 0
}

fn is_ipv6(word: &str) -> bool {
    let address = match word.split_once('%') {
        Some((address, zone)) if !zone.is_empty() => address,
        Some(_) => return false,
        None => word,
    };
    address.contains(':') && address.parse::<Ipv6Addr>().is_ok()
}

/// The length of `Oct 11 22:14:15` at the beginning, with any fraction.
fn month_time(text: &str) -> Option<usize> {
    let month = text.find(|c: char| !c.is_alphabetic()).filter(|end| (2..=10).contains(end))?;
    if !is_month(text.get(..month)?) {
        return None;
    }
    let rest = text.get(month..)?;
    let day = rest.find(|c| c != ' ').filter(|blanks| *blanks > 0)?;
    let rest = rest.get(day..)?;
    let length = digits(rest);
    number_in(rest.get(..length)?, 1, 31)?;
    let rest = rest.get(length..)?.strip_prefix(' ')?;
    let length = clock(rest)?;
    let rest = rest.get(length..)?;
    Some(text.len() - rest.len())
}

/// The length of `22:14:15` at the beginning, with any fraction.
fn clock(text: &str) -> Option<usize> {
    let hour = digits(text);
    number_in(text.get(..hour)?, 0, 23)?;
    let rest = text.get(hour..)?.strip_prefix(':')?;
    let rest = minute(rest)?.strip_prefix(':')?;
    let second = digits(rest);
    number_in(rest.get(..second)?, 0, 60)?;
    let rest = rest.get(second..)?;
    Some(text.len() - rest.len() + fraction(rest))
}

/// What follows two digits up to 59.
fn minute(text: &str) -> Option<&str> {
    let (minute, rest) = text.split_at_checked(2)?;
    (digits(minute) == 2 && minute <= "59").then_some(rest)
}

/// The length of `.123` at the beginning.
fn fraction(text: &str) -> usize {
    match text.strip_prefix([':', '.', ',']).map(digits) {
        Some(length @ 1..) => length + 1,
        _ => 0,
    }
}

/// The length of `2020-01-02T03:04:05.006Z` at the beginning, in any of its forms.
fn iso_time(text: &str) -> Option<usize> {
    let year = digits(text);
    if year != 2 && year != 4 {
        return None;
    }
    let rest = text.get(year..)?.strip_prefix('-')?;
    let month = digits(rest);
    number_in(rest.get(..month)?, 1, 12)?;
    let rest = rest.get(month..)?.strip_prefix('-')?;
    let day = digits(rest);
    number_in(rest.get(..day)?, 1, 31)?;
    let rest = rest.get(day..)?.strip_prefix(['T', ' '])?;
    // Without colons an hour may have one digit or two; the first reading that reaches the blank wins.
    let ends = [2, 1].into_iter().filter_map(|hour| {
        number_in(rest.get(..hour)?, 0, 23)?;
        let rest = rest.get(hour..)?;
        seconds_and_zone(minute(rest.strip_prefix(':').unwrap_or(rest))?)
    });
    let rest = ends.into_iter().next()?;
    Some(text.len() - rest.len())
}

/// What follows optional seconds and an optional zone, if that is a blank.
fn seconds_and_zone(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(':').unwrap_or(text);
    let seconds = [2, 1].into_iter().filter_map(|length| {
        number_in(rest.get(..length)?, 0, 60)?;
        let rest = rest.get(length..)?;
        rest.get(fraction(rest)..)
    });
    seconds.chain([text]).find_map(|rest| {
        let rest = zone(rest).unwrap_or(rest);
        rest.starts_with(' ').then_some(rest)
    })
}

/// What follows `Z`, `+02:00`, `+0200`.
fn zone(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some(rest);
    }
    let text = text.strip_prefix(['+', '-'])?;
    [2, 1].into_iter().find_map(|hour| {
        number_in(text.get(..hour)?, 0, 23)?;
        let rest = text.get(hour..)?;
        minute(rest.strip_prefix(':').unwrap_or(rest))
    })
}

/// The names of months, English and German, long and short, with a capital or without.
fn is_month(name: &str) -> bool {
    const NAMES: [(&str, &[&str]); 12] = [
        ("j", &["an", "anuary", "anuar"]),
        ("f", &["eb", "ebruary", "ebruar"]),
        ("m", &["r", "rch", "rz", "ar", "arch", "arz", "är", "ärch", "ärz"]),
        ("a", &["pr", "pril"]),
        ("m", &["a", "ay", "ai"]),
        ("j", &["un", "une", "uni"]),
        ("j", &["ul", "uly", "uli"]),
        ("a", &["ug", "ugust"]),
        ("s", &["ep", "eptember"]),
        ("o", &["t", "ct", "kt", "tober", "ctober", "ktober"]),
        ("n", &["ov", "ovember"]),
        ("d", &["ec", "ez", "ecember", "ezember"]),
    ];
    let Some((first, rest)) = name.split_at_checked(1) else { return false };
    NAMES.iter().any(|(letter, ends)| first.eq_ignore_ascii_case(letter) && ends.contains(&rest))
}

fn number_in(text: &str, least: u32, most: u32) -> Option<()> {
    if text.is_empty() || text.len() > 2 || digits(text) != text.len() {
        return None;
    }
    text.parse().ok().filter(|n| (least..=most).contains(n)).map(|_| ())
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn first_line(text: &str) -> &str {
    memchr::memchr(b'\n', text.as_bytes()).and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str, dialect: Dialect) -> Option<String> {
        let parts = parse(text, dialect)?;
        let or_dash = |part: Option<&str>| part.unwrap_or("-").to_owned();
        let (host, program, pid) = (or_dash(parts.host), or_dash(parts.program), or_dash(parts.pid));
        Some(format!("{}|{}|{host}|{program}|{pid}|{}", parts.priority, parts.time, parts.message))
    }

    #[track_caller]
    fn both(text: &str, expected: &str) {
        for dialect in [Dialect::Old, Dialect::Ecs] {
            assert_eq!(shown(text, dialect).as_deref(), Some(expected), "{text} {dialect:?}");
        }
    }

    #[test]
    fn lines_that_both_sets_take() {
        for (text, expected) in [
            ("<134>Oct 11 22:14:15 web1 sshd[42]: login accepted", "134|Oct 11 22:14:15|web1|sshd|42|login accepted"),
            ("<1>Oct  1 2:14:05 10.0.0.1 app: x\nnext", "1|Oct  1 2:14:05|10.0.0.1|app|-|x"),
            ("junk <0>x <13>mai 31 23:59:60 fe80::1%eth0 no program", "13|mai 31 23:59:60|fe80::1%eth0|-|-|no program"),
            (
                "<13>Oct 11 22:14:15.123 a.b-c. %ASA-4-106023: Deny",
                "13|Oct 11 22:14:15.123|a.b-c.|%ASA-4-106023|-|Deny",
            ),
            ("<13>2020-01-02T03:04:05.006Z h a:b[7]: t", "13|2020-01-02T03:04:05.006Z|h|a:b|7|t"),
            ("<13>2020-1-2 030405+0100 h a[b]: t", "13|2020-1-2 030405+0100|h|-|-|a[b]: t"),
            ("<13>Oct 11 22:14:15 <4.6> h a: t", "13|Oct 11 22:14:15|h|a|-|t"),
            ("<13>Oct 11 22:14:15 h a: ", "13|Oct 11 22:14:15|h|a|-|"),
        ] {
            both(text, expected);
        }
    }

    #[test]
    fn host_and_program_may_be_missing_in_the_set_for_ecs() {
        for (text, expected) in [
            ("<13>Oct 11 22:14:15 su: text", "13|Oct 11 22:14:15|-|su|-|text"),
            ("<13>Oct 11 22:14:15 hello", "13|Oct 11 22:14:15|-|-|-|hello"),
            ("<13>Oct 11 22:14:15 my_host a: t", "13|Oct 11 22:14:15|-|-|-|my_host a: t"),
            ("<13>Oct 11 22:14:15  web1 x", "13|Oct 11 22:14:15|-|-|-| web1 x"),
        ] {
            assert_eq!(shown(text, Dialect::Ecs).as_deref(), Some(expected), "{text}");
            assert_eq!(shown(text, Dialect::Old), None, "{text}");
        }
    }

    #[test]
    fn names_of_machines() {
        let longest = "a".repeat(63);
        for name in ["a", "7", "web-1", "a.b-c.", "10.0.0.1", "a-", "::1", &longest, &format!("{longest}.{longest}")] {
            assert!(is_host(name), "{name}");
        }
        for odd in ["", ".", "-a", "a..b", "a..", ".a", "a.-b", "a_b", "ä", &format!("{longest}a")] {
            assert!(!is_host(odd), "{odd}");
        }
    }

    #[test]
    fn what_is_no_line() {
        for text in [
            "just text",
            "<0>Oct 11 22:14:15 h a: t",
            "<13> Oct 11 22:14:15 h a: t",
            "<13>Oct 32 22:14:15 h a: t",
            "<13>Oct 11 24:14:15 h a: t",
            "<13>Oct 11 22:14 h a: t",
            "<13>Oct 11 22:14:155 h a: t",
            "<13>Oktobe 11 22:14:15 h a: t",
            "<13>1 2020-01-02T03:04:05Z h app 1 - - text",
            "<13>202-01-02T03:04:05Z h a: t",
            "<99999999999999999999>Oct 11 22:14:15 h a: t",
            "<",
            "<13>",
            "<13>Oct 11 22:14:15",
        ] {
            assert_eq!(shown(text, Dialect::Ecs), None, "{text}");
            assert_eq!(shown(text, Dialect::Old), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn parts_lie_in_the_text(text in "(<[0-9]{0,3}>)?(Oct|mär|2020-01-02)?[ T]{0,2}[0-9:.]{0,9}.{0,40}") {
            for dialect in [Dialect::Old, Dialect::Ecs] {
                if let Some(parts) = parse(&text, dialect) {
                    prop_assert!(text.contains(parts.message) && text.contains(parts.time));
                    prop_assert!(parts.host.is_none_or(|host| text.contains(host)));
                }
            }
        }
    }
}
