//! A configuration of any text: it is read or refused, and every message about it can be shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use spillway::config::render::Renderer;

fuzz_target!(|text: &str| {
    let loaded = spillway::config::parse(text);
    let renderer = Renderer::new(&loaded.sources, false);
    let shown = renderer.render_all(&loaded.diagnostics);
    assert_eq!(shown.is_empty(), loaded.diagnostics.0.is_empty());
    for diagnostic in &loaded.diagnostics.0 {
        let places = diagnostic.related.iter().map(|(span, _)| *span).chain(diagnostic.span);
        for span in places {
            let source = loaded.sources.get(span.source).expect("a place in the text");
            let piece = source.text.get(span.start as usize..span.end as usize);
            assert!(piece.is_some(), "{diagnostic:?} points outside the text");
        }
    }
});
