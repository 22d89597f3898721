//! Ruby's dialect, feature by feature. Each row: pattern, text, the match (`None` for no match).

use super::RubyRegex;

fn first<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
    let regex = RubyRegex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let found = regex.find_at(text, 0).unwrap();
    assert_eq!(regex.is_match(text), found.is_some(), "{pattern}");
    found.map(|range| &text[range])
}

#[test]
fn the_dialect_of_ruby() {
    let table: &[(&str, &str, Option<&str>)] = &[
        // Lines and texts.
        ("^b$", "a\nb\nc", Some("b")),
        ("\\Ab", "a\nb", None),
        ("b\\z", "b\n", None),
        ("b\\Z", "b\n", Some("b")),
        ("b\\Z", "b\nc", None),
        ("^$", "a\n", None),
        ("^$", "", Some("")),
        ("^\\s*$", "abc\n", None),
        ("^\\s*$", "abc\n\n", Some("\n")),
        ("^a*", "b\n", Some("")),
        // Dots.
        ("a.b", "a\nb", None),
        ("(?m)a.b", "a\nb", Some("a\nb")),
        ("(?m:a.)b", "a\nb", Some("a\nb")),
        ("(?m)a.(?-m:.)", "a\n\n", None),
        // Options.
        ("(?i)ABC", "abc", Some("abc")),
        ("a(?i)b|c", "aC", Some("aC")),
        ("a(?i)b|c", "C", None),
        ("(?i:a)B", "Ab", None),
        ("(?x) a b # c\n c", "abc", Some("abc")),
        ("(?x)a\\ b[ ]c", "a b c", Some("a b c")),
        ("a(?#comment)b", "ab", Some("ab")),
        // Classes.
        ("\\w+", "é1_a", Some("1_a")),
        ("\\d", "٣", None),
        ("\\s", "\u{a0}", None),
        ("\\s", "\u{b}", Some("\u{b}")),
        ("\\h+", "xyzDEADbeef", Some("DEADbeef")),
        ("\\H+", "abXYZ", Some("XYZ")),
        ("[[:alpha:]]+", "1é2", Some("é")),
        ("[^[:alpha:]]+", "é2é", Some("2")),
        ("[[:^digit:]x]+", "1a", Some("a")),
        ("[[:punct:]]+", "a$.b", Some("$.")),
        ("\\p{Alpha}+", "1é", Some("é")),
        ("\\p{^L}+", "a1", Some("1")),
        ("\\P{L}+", "a1", Some("1")),
        ("\\p{Greek}", "aα", Some("α")),
        ("[]a]+", "a]b", Some("a]")),
        ("[^]a]+", "a]b", Some("b")),
        ("[a[bc]]+", "abcd", Some("abc")),
        ("[a-z&&[^b]]+", "bacb", Some("ac")),
        ("[a-z-.]+", "a-.z", Some("a-.z")),
        ("[\\w.-]+", "a-.é", Some("a-.")),
        ("[\\W]+", "ab cd", Some(" ")),
        ("[a~~b&c]+", "c~&b-", Some("c~&b")),
        ("[+--]+", "a+,-b", Some("+,-")),
        ("[\\]\\[]+", "a[]b", Some("[]")),
        ("[\\x41\\u0042]+", "xABC", Some("AB")),
        ("[#]", "#", Some("#")),
        ("[\\b]", "\u{8}", Some("\u{8}")),
        // Words.
        ("\\b\\w+\\b", "naïve", None),
        ("\\bfoo\\b", "a foo.", Some("foo")),
        // Literals.
        ("a{b", "a{b", Some("a{b")),
        ("a{,x}", "a{,x}", Some("a{,x}")),
        ("a]", "a]", Some("a]")),
        ("a}", "a}", Some("a}")),
        ("\\/\\-\\\"\\<\\>", "/-\"<>", Some("/-\"<>")),
        ("\\N\\Q", "NQ", Some("NQ")),
        ("\\101\\x{e9}\\e\\cA\\0", "Aé\u{1b}\u{1}\0", Some("Aé\u{1b}\u{1}\0")),
        // Quantifiers.
        ("a{,3}", "aaaa", Some("aaa")),
        ("a{2}", "aaa", Some("aa")),
        ("a{2,}?", "aaa", Some("aa")),
        ("a{2}?", "a", Some("")),
        ("a{1,2}+", "aaaaa", Some("aaaaa")),
        ("a++a", "aaa", None),
        ("a*+b", "aab", Some("aab")),
        ("a?+a", "a", None),
        (".?*x", "aax", Some("aax")),
        // Groups that need backtracking.
        ("(?>a+)ab", "aaab", None),
        ("(?<=a|bc)x", "bcx", Some("x")),
        ("(?<!a)x", "axx", Some("x")),
        ("a(?=b)", "acab", Some("a")),
        ("a(?!b)", "abac", Some("a")),
        ("(a|b)\\1", "abb", Some("bb")),
        ("(?<q>['\"]).*?\\k<q>", "x'a\"'", Some("'a\"'")),
        ("(?'q'a)\\k'q'", "aa", Some("aa")),
        ("(?<n>a)|(?<n>b)\\k<n>", "bb", Some("bb")),
        ("\\((?:[^()]|\\g<0>)*\\)", "x(a(b)c)y", Some("(a(b)c)")),
        ("(a)?(?(1)b|c)", "ab", Some("ab")),
        ("\\/\\*(?~\\*\\/)\\*\\/", "/* a */ b */", Some("/* a */")),
        ("a\\Kb", "ab", Some("b")),
        ("a\\Rb", "a\r\nb", Some("a\r\nb")),
    ];
    let mut wrong = String::new();
    for (pattern, text, expected) in table {
        // The look-ahead changes nothing but the engine.
        for pattern in [(*pattern).to_owned(), format!("(?=)(?:{pattern})")] {
            let found = first(&pattern, text);
            if found != *expected {
                wrong += &format!("{pattern} in {text:?}: {found:?}, not {expected:?}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_sign_can_be_escaped() {
    for sign in (0x20..0x7f_u8).map(char::from).filter(char::is_ascii_punctuation) {
        let text = format!("a{sign}b");
        for pattern in [format!("a\\{sign}b"), format!("a[\\{sign}]b"), format!("(?=.)a\\{sign}[b\\{sign}]")] {
            assert_eq!(first(&pattern, &text), Some(text.as_str()), "{pattern}");
        }
    }
}

#[test]
fn what_ruby_refuses_is_refused() {
    for pattern in [
        "[a",
        "(a",
        "a)",
        "*a",
        "(?s)a",
        "(?P<n>a)",
        "[\\w-.]",
        "\\k<n>",
        "(?<n>a)\\1",
        "[z-a]",
        "a{3,1}",
        "[]",
        "\\p{Nope}",
        "\\",
        "(?<n",
        "(?<1a>x)",
        "(?z)",
        "[[:nope:]]",
    ] {
        assert!(RubyRegex::new(pattern).is_err(), "{pattern}");
    }
    let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(RubyRegex::new(&deep).is_err());
    assert!(RubyRegex::new(&"[".repeat(100_000)).is_err());
}

#[test]
fn most_patterns_never_backtrack() {
    for (pattern, linear) in [
        ("^\\d{4}-\\d\\d (?:GET|POST) \\[[^\\]]+\\]$", true),
        ("error", true),
        ("(?i)fail(ed|ure)", true),
        ("\\A\\s*\\z", true),
        ("(?=a)", false),
        ("a++", false),
    ] {
        assert_eq!(RubyRegex::new(pattern).unwrap().is_linear(), linear, "{pattern}");
    }
}

#[test]
fn named_groups_keep_unnamed_ones_from_capturing() {
    let text = "k=v";
    let regex = RubyRegex::new("(\\w)=(?<value>\\w)").unwrap();
    assert_eq!(regex.group_names(), [Some("value".to_owned())]);
    let captures = regex.captures_at(text, 0).unwrap().unwrap();
    assert_eq!((captures.len(), captures.get(1), captures.name("value")), (2, Some(2..3), Some(2..3)));
    let captures = RubyRegex::new("(\\w)=(\\w)?(x)?").unwrap().captures_at(text, 0).unwrap().unwrap().len();
    assert_eq!(captures, 4);
    let regex = RubyRegex::new("(?<n>a)|(?<n>b)").unwrap();
    let captures = regex.captures_at("b", 0).unwrap().unwrap();
    assert_eq!((captures.name("n"), captures.get(1), captures.get(2)), (Some(0..1), None, Some(0..1)));
}

#[test]
fn all_matches_as_gsub_goes_through_them() {
    let matches = |pattern: &str, text: &str| -> Vec<_> {
        RubyRegex::new(pattern).unwrap().captures_iter(text).map(|captures| captures.unwrap().range()).collect()
    };
    assert_eq!(matches("a", "abca"), [0..1, 3..4]);
    assert_eq!(matches("x*", "axb"), [0..0, 1..2, 3..3]);
    assert_eq!(matches("", "é"), [0..0, 2..2]);
    assert_eq!(matches("^", "a\nb\n"), [0..0, 2..2]);
    assert_eq!(matches("$", "a\nb"), [1..1, 3..3]);
    assert_eq!(matches("(?<=a)b|(?=c)", "abcc"), [1..2, 3..3]);
}

#[test]
fn endless_backtracking_is_given_up() {
    let regex = RubyRegex::new("(?:a(?=a|\\z)|aa(?=a|\\z))*[cd]").unwrap();
    let text = "a".repeat(5000);
    assert!(regex.try_is_match(&text).is_err());
    assert!(!regex.is_match(&text));
}

#[test]
fn conditions_that_always_hold_make_no_backtracking() {
    let regex = RubyRegex::new("(?:a(?!z)|aa(?!z))*[cd]").unwrap();
    assert_eq!(regex.try_is_match(&"a".repeat(5000)), Ok(false));
}
