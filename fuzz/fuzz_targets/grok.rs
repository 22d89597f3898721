//! A grok pattern of any text, before the first line feed, on any line behind it: it is compiled or refused, and
//! matching ends with groups that lie in the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use spillway::plugins::Ecs;
use spillway::plugins::filters::grok::library::Library;
use spillway::plugins::filters::grok::pattern::compile;
use spillway::regexp::{Groups, TimeLimit};

thread_local! {
    static LIBRARY: Library = Library::bundled(Ecs::V8);
}

fuzz_target!(|text: &str| {
    let (pattern, line) = text.split_once('\n').unwrap_or((text, text));
    let Ok(regex) = LIBRARY.with(|library| compile(pattern, library, false)) else { return };
    let mut groups = Groups::default();
    if regex.captures_within(line, &mut groups, &mut TimeLimit::steps()) == Ok(true) {
        for at in 0..=regex.group_names().len() {
            if let Some(range) = groups.get(at) {
                assert!(line.get(range.clone()).is_some(), "group {at} at {range:?} of {line:?}");
            }
        }
    }
});
