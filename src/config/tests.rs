//! Texts that nobody would write: whatever comes in, an answer comes out, and it points into the text.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::render::Renderer;
use super::{Loaded, parse};

/// A text that uses every form of the language.
const GOOD: &str = r#"# comment
input { stdin { codec => json { charset => "UTF-8" } type => "x" } if [a] { generator { } } }
filter {
  if [a] == "x" and ([b][c] not in ["p", 5] or ![d]) or "t" in [tags] {
    mutate { add_field => { "k" => 1 'l' => ["a", -1.5, [x1]] 5 => ${V} } "id" => word }
  } else if [m] =~ /^a\/b$/ or [n] !~ "re" { grok { match => { "message" => "%{X:y}" } } }
  else { drop {} }
  if ([p] xor [q]) nand [r] <= 5 { }
}
output { elasticsearch { hosts => ["h:9200"] index => "i-%{+YYYY.MM.dd}" } }
"#;

/// Pieces that a parser may stumble over.
const PIECES: [&str; 44] = [
    "input", "filter", "output", "if", "else", "elsif", "and", "or", "not in", "in", "xor", "{", "}", "[", "]", "(",
    ")", "=>", "=", ",", "\"", "'", "/", "\\", "#", "\n", " ", "[a]", "\"x\"", "5", "-", "1.", "==", "=~", "!", "<",
    "grok", "x", "é", "\u{a0}", "“", "${A}", "\u{feff}", "010",
];

/// Loads, renders, and checks that every place lies in the text, on whole characters.
fn survives(text: &str) -> Loaded {
    let loaded = parse(text);
    let renderer = Renderer::new(&loaded.sources, true);
    assert!(renderer.render_all(&loaded.diagnostics).len() < 10_000_000);
    for diagnostic in &loaded.diagnostics.0 {
        let _ = renderer.one_line(diagnostic);
        let places = diagnostic.span.into_iter().chain(diagnostic.related.iter().map(|(span, _)| *span));
        for span in places {
            let text = &loaded.sources.get(span.source).unwrap().text;
            assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} of {text:?}: {diagnostic:?}");
        }
    }
    loaded
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in "\\PC*") {
        survives(&text);
    }

    #[test]
    fn any_mix_of_pieces_is_answered(pieces in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = pieces.into_iter().map(|at| PIECES[at]).collect();
        survives(&text);
        survives(&format!("filter {{ {text} }}"));
        survives(&format!("filter {{ if {text} {{ }} }}"));
        survives(&format!("filter {{ x {{ a => {text} }} }}"));
    }

    #[test]
    fn any_damage_to_a_good_text_is_answered(
        cuts in proptest::collection::vec((0..GOOD.len(), 0..8_usize, 0..PIECES.len()), 1..4)
    ) {
        let mut text = GOOD.replace("${V}", "v1");
        for (at, length, piece) in cuts {
            let start = at.min(text.len());
            let end = (start + length).min(text.len());
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                text.replace_range(start..end, PIECES[piece]);
            }
        }
        survives(&text);
    }
}

#[test]
fn a_good_text_has_no_errors() {
    assert!(!survives(&GOOD.replace("${V}", "v1")).diagnostics.has_errors());
}

#[test]
fn long_texts_take_time_in_proportion() {
    const SIZE: usize = 1 << 16;
    let shapes = [
        "[",
        "{",
        "(",
        "\"",
        "'",
        "/",
        "\\\"",
        "a",
        "a ",
        "#",
        "# \n",
        "filter{",
        "filter{}",
        "filter { a { ",
        "}",
        "é",
        "filter { if [a] { ",
        "filter { x { a => { ",
        "filter { x { a => [",
        "filter { if !(",
        "a => ",
    ];
    for shape in shapes {
        let text = shape.repeat(SIZE / shape.len());
        for text in [format!("filter {{ if {text}"), format!("filter {{ x {{ a => {text}"), text] {
            let start = Instant::now();
            survives(&text);
            // Far above what a linear reading takes, far below what a quadratic one would.
            assert!(start.elapsed() < Duration::from_secs(10), "{shape:?} took {:?}", start.elapsed());
        }
    }
}
