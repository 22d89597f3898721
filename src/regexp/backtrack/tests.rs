//! The matcher against `fancy-regex` on patterns and texts of all kinds, and its limits.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::regexp::RubyRegex;
use crate::regexp::translate::translate;

/// A pattern in Ruby's dialect, and whether it can match nothing.
type Piece = (String, bool);

const TAKING: &[&str] =
    &["a", "b", "é", "ab", "1", " ", "\\n", "[ab]", "[^a]", "[^é]", "[aé1]", "\\w", "\\d", "\\S", ".", "\\p{L}"];
const EMPTY: &[&str] =
    &["^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z", "(?<!a)", "(?<=[bé])", "(?!b)", "(?=a)", "(?<=ab|é)", "(?<!1a)"];
const COUNTS: &[&str] = &["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "*?", "+?", "??", "{1,3}?", "*+", "++", "?+"];

fn leaf() -> impl Strategy<Value = Piece> {
    prop_oneof![
        5 => prop::sample::select(TAKING).prop_map(|text| (text.to_owned(), false)),
        1 => prop::sample::select(EMPTY).prop_map(|text| (text.to_owned(), true)),
    ]
}

fn pattern() -> impl Strategy<Value = Piece> {
    leaf().prop_recursive(5, 40, 4, |inner| {
        let concat = prop::collection::vec(inner.clone(), 1..5).prop_map(|pieces| {
            let empty = pieces.iter().all(|(_, empty)| *empty);
            (pieces.into_iter().map(|(text, _)| text).collect::<String>(), empty)
        });
        let either = prop::collection::vec(inner.clone(), 2..4).prop_map(|pieces| {
            let empty = pieces.iter().any(|(_, empty)| *empty);
            let texts: Vec<String> = pieces.into_iter().map(|(text, _)| text).collect();
            (format!("(?:{})", texts.join("|")), empty)
        });
        let wrap = |before: &'static str| {
            move |(text, empty): Piece| {
                (format!("{before}{text})"), empty || before.contains('=') || before.contains('!'))
            }
        };
        // Loops over nothing are where engines differ.
        let repeat = (inner.clone(), prop::sample::select(COUNTS)).prop_map(|((text, empty), count)| {
            let can_skip = count.starts_with(['*', '?']) || count.starts_with("{0");
            if empty { (text, true) } else { (format!("(?:{text}){count}"), can_skip) }
        });
        prop_oneof![
            4 => concat,
            3 => either,
            3 => repeat,
            2 => inner.clone().prop_map(wrap("(")),
            1 => inner.clone().prop_map(wrap("(?>")),
            1 => inner.clone().prop_map(wrap("(?=")),
            1 => inner.prop_map(wrap("(?!")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn matches_are_those_of_fancy_regex((pattern, _) in pattern(), text in "[abé1 \n]{0,14}", dot_all: bool) {
        compare(&pattern, dot_all, &[text.as_str()])?;
    }

    #[test]
    fn any_text_is_a_pattern_or_refused(pattern in "[a-c(){}\\[\\]|*+?^$.\\\\:<>=!,0-3-]{0,24}", text in "[a-c\n0-3]{0,10}") {
        if let Ok(regex) = RubyRegex::for_captures(&pattern) {
            let _ = regex.captures_within(&text, &mut Groups::default(), &mut TimeLimit::steps());
        }
    }
}

/// Both engines on some texts, unless one of them lacks what the pattern uses.
fn compare(pattern: &str, dot_all: bool, texts: &[&str]) -> Result<(), TestCaseError> {
    let translation = translate(pattern, dot_all).unwrap();
    let Some(own) = Program::compile(&translation.pattern, translation.names.len()) else { return Ok(()) };
    let mut builder = fancy_regex::RegexBuilder::new(&translation.pattern);
    let Ok(fancy) = builder.oniguruma_mode(true).multi_line(true).build() else { return Ok(()) };
    let mut groups = Groups::default();
    // Behind the last line feed of a text begins no line in Ruby, but it does in the other engine.
    let has_line_start = pattern.replace("[^", "").contains('^');
    for text in texts.iter().filter(|text| !(has_line_start && text.ends_with('\n'))) {
        let Ok(expected) = fancy.captures(text) else { continue };
        let found = own.find(text, 0, &mut groups, &mut TimeLimit::steps()).unwrap();
        prop_assert_eq!(found, expected.is_some(), "{} in {:?}", pattern, text);
        for (at, group) in expected.iter().flat_map(|captures| captures.iter().enumerate()) {
            let group = group.map(|group| group.range());
            prop_assert_eq!(groups.get(at), group, "group {} of {} in {:?}", at, pattern, text);
        }
    }
    Ok(())
}

/// Compares the engines on a pattern whose dots match all.
#[track_caller]
pub(crate) fn assert_matches_as_fancy_regex(pattern: &str, texts: &[&str]) {
    if let Err(difference) = compare(pattern, true, texts) {
        panic!("{difference}");
    }
}

fn groups(pattern: &str, text: &str) -> Option<Vec<Option<String>>> {
    let regex = RubyRegex::for_captures(pattern).unwrap();
    let mut groups = Groups::default();
    let found = regex.captures_within(text, &mut groups, &mut TimeLimit::steps()).unwrap();
    let texts = (0..=regex.group_names().len()).map(|at| groups.get(at).map(|range| text[range].to_owned()));
    found.then(|| texts.collect())
}

#[test]
fn loops_over_nothing_end() {
    for (pattern, text, whole) in [
        ("(?:a*)*b", "aab", Some("aab")),
        ("(?:a?){3}b", "ab", Some("ab")),
        ("(?:|a)+", "aa", Some("")),
        ("(?:a|b?)*c", "abc", Some("abc")),
        ("(?:\\b)*a", "a", Some("a")),
        ("(?:(?:){1000}){1000}", "a", Some("")),
        ("(?:a*?)*?b", "aab", Some("aab")),
    ] {
        let found = groups(pattern, text).map(|groups| groups[0].clone().unwrap());
        assert_eq!(found.as_deref(), whole, "{pattern}");
    }
}

#[test]
fn groups_go_back_with_the_matcher() {
    let texts = |pattern: &str, text: &str| groups(pattern, text).unwrap()[1..].to_vec();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(texts("(?:(a)x|(a)b)", "ab"), [None, some("a")]);
    assert_eq!(texts("(?>(a)|b)*?c|(a)", "a"), [None, some("a")]);
    assert_eq!(texts("(?=(a+))a(b)?", "aac"), [some("aa"), None]);
    assert_eq!(texts("(?!(a)b)(.)", "ac"), [None, some("a")]);
    assert_eq!(texts("(a)?(?>(b)?)(?:\\2c|d)", "bd"), [None, some("b")]);
    assert_eq!(texts("((a?+))", "a"), [some("a"), some("a")]);
    assert_eq!(texts("(?<q>['\"])(?<in>.*?)\\k<q>", "x\"a'b\"c'"), [some("\""), some("a'b")]);
}

#[test]
fn alternatives_that_begin_alike_keep_their_order() {
    let texts = &["aab", "aac", "ab", "abc", "12:34:", "12:x", "12:34:56", "a", "", "aaaa"];
    for pattern in [
        "(a|ab)(c|bc)?",
        "(?:[ab]c|[ab]b|[ab])(c)?",
        "(?:\\d{1,2}:){2}\\d+|(?:\\d{1,2}:){2}|(?:\\d{1,2}:)x|\\d",
        "(?:a{2}(b)|a{2}(c)|a{2}|a)",
        "(?:a+b|a+c|a+)$",
        "(?:a*?b|a*?c)",
        "(?:^a|^b|^)x?",
    ] {
        assert_matches_as_fancy_regex(pattern, texts);
    }
}

#[test]
fn parts_that_end_in_one_place() {
    let octet = "(?:[0-1]?[0-9]{1,2}|2[0-4][0-9]|25[0-5])";
    let texts = &[
        "1.2.3.4",
        "255.255.255.255:80",
        "1.2.3.256",
        "x01/Feb/2026:10:11:60 +0200]",
        "1/May/2026:1:11:9,5 -1",
        "12/Mai/26:1:11:9.5 7",
        "+1.5e",
        "-.5.",
        "1..2",
        "aab-aabb",
        "",
    ];
    for pattern in [
        format!("(?<![0-9])({octet}(?:\\.{octet}){{3}})(?![0-9])(:?)"),
        "(\\d\\d?/\\b(?:Feb(?:ruary)?|[Mm]a(?:y|i)?|M(?:a|ä)rz?)\\b/(?>\\d\\d){1,2}:(?!<1)\\d\\d?:[0-5]\\d:(?:[0-5]?\\d|60)(?:[:.,]\\d+)?) ([+-]?\\d+)".to_owned(),
        "((?<![0-9.+-])(?>[+-]?(?:\\d+(?:\\.\\d+)?|\\.\\d+)))(.*)".to_owned(),
        "((?>a|ab|aab)+)(.*)".to_owned(),
        "((?:a|ab|aab)+)(b*)-((?:a|ab|aab)+?)(b*)$".to_owned(),
        "(?:x|)((?:\\d|/)*\\B\\d\\b)".to_owned(),
    ] {
        assert_matches_as_fancy_regex(&pattern, texts);
    }
}

#[test]
fn long_lists_of_alternatives() {
    let words: Vec<String> = (0..500).map(|n| format!("w{n}x")).collect();
    let pattern = format!("({})y", words.join("|"));
    assert_matches_as_fancy_regex(&pattern, &["w0xy", "w499xy", "w63xw64xy", "w500xy"]);
}

#[test]
fn a_pattern_that_explodes_ends_in_time() {
    let text = format!("{}!", "a".repeat(100_000));
    for pattern in ["^(([a-z])+.)+[A-Z]([a-z])+$", "(a*)*b", "(?:a|aa)+b", "(.*)(.*)(.*)(.*)(.*)x", "(?:a?b?c?)*d"] {
        let regex = RubyRegex::for_captures(pattern).unwrap();
        let start = Instant::now();
        let mut limit = TimeLimit::new(Some(Duration::from_millis(50)));
        let found = regex.captures_within(&text, &mut Groups::default(), &mut limit);
        assert_ne!(found, Ok(true), "{pattern}");
        // A hang would take for ever; this only leaves a busy machine its time.
        assert!(start.elapsed() < Duration::from_secs(20), "{pattern}");
    }
}

#[test]
fn memory_is_bounded() {
    let regex = RubyRegex::for_captures("(?:(a)|a)*+$").unwrap();
    let mut groups = Groups::default();
    let text = "a".repeat(5 << 20);
    let _ = regex.captures_within(&text, &mut groups, &mut TimeLimit::new(None));
    assert!(regex.captures_within("aa", &mut groups, &mut TimeLimit::new(None)).unwrap());
    assert_eq!(groups.get(0), Some(0..2));
}

#[test]
fn the_start_of_a_search_misses_nothing() {
    for (pattern, text, start, expected) in [
        ("abc", "xxabc", 0, Some(2)),
        ("abc", "xxabc", 3, None),
        ("^b", "a\nb\nb", 1, Some(2)),
        ("^b", "a\nb\nb", 3, Some(4)),
        ("^b", "b", 0, Some(0)),
        ("\\Ab", "ab", 1, None),
        (".*b", "aab", 1, Some(1)),
        ("[é]", "aé", 0, Some(1)),
        ("[^a]", "aé", 0, Some(1)),
        ("", "é", 0, Some(0)),
        ("x?$", "é", 0, Some(2)),
        ("(?<=a)b", "ab", 1, Some(1)),
        ("a(?:bcd|x)", "abc ax", 0, Some(4)),
        ("\\Gb", "abb", 1, Some(1)),
        ("\\Gb", "abb", 0, None),
    ] {
        let translation = translate(pattern, true).unwrap();
        let program = Program::compile(&translation.pattern, translation.names.len()).unwrap();
        let mut groups = Groups::default();
        let found = program.find(text, start, &mut groups, &mut TimeLimit::steps()).unwrap();
        assert_eq!(groups.get(0).filter(|_| found).map(|range| range.start), expected, "{pattern} in {text:?}");
    }
}

#[test]
fn a_possessive_group_keeps_its_first_way_even_where_the_rest_cannot_follow() {
    for pattern in ["(?:1+?)?+1", "(?>1+?|)1", "(?>1??)+?1$"] {
        assert_matches_as_fancy_regex(pattern, &["1", "11", "111"]);
    }
    assert_eq!(groups("(?:1+?)?+1", "1"), None);
}
