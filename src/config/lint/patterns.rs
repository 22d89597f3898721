//! `slow-pattern`: grok patterns whose time grows faster than the text they do not match.

use super::flow::{each_text, plugins};
use crate::config::ast::Config;
use crate::config::diagnostic::{Diagnostic, Diagnostics};

pub(super) fn check(config: &Config, diagnostics: &mut Diagnostics) {
    plugins(&config.filters, &mut |plugin| {
        let matches = plugin.settings.iter().filter(|s| plugin.name == "grok" && s.name == "match");
        for setting in matches {
            each_text(&setting.value, &mut |pattern, span| {
                let greedy = greedy(pattern);
                if greedy.len() < 2 || pattern.starts_with(['^', '\\']) {
                    return;
                }
                let message = format!(
                    "this pattern has no anchor and {} pieces that match anything ({}): lines that do not match cost a lot",
                    greedy.len(),
                    greedy.join(", ")
                );
                let help = "start the pattern with `^`, name what stands between (`NOTSPACE`, `[^,]*`), or use dissect";
                diagnostics.push(Diagnostic::warning("slow-pattern", span, message).label("slow").help(help));
            });
        }
    });
}

/// The pieces of a pattern that match anything.
fn greedy(pattern: &str) -> Vec<&'static str> {
    let pieces = pattern.split("%{").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
    pieces.filter_map(|name| ["DATA", "GREEDYDATA"].into_iter().find(|greedy| *greedy == name)).collect()
}

#[cfg(test)]
mod tests {
    use crate::config::lint::testing::places;

    #[test]
    fn two_pieces_that_match_anything_need_an_anchor() {
        let read = |pattern: &str| {
            places("slow-pattern", &format!("filter {{ grok {{ match => {{ 'm' => '{pattern}' }} }} }}")).len()
        };
        assert_eq!(read("%{DATA:a} - %{GREEDYDATA:b}"), 1);
        assert_eq!(read("^%{DATA:a} - %{GREEDYDATA:b}"), 0);
        assert_eq!(read("%{WORD:a} %{GREEDYDATA:b}"), 0);
    }
}
