//! Options on what becomes of events that the server refuses.

use super::super::verdict::Rules;
use crate::plugins::Options;

/// Reads those of `elasticsearch`.
pub(super) fn elasticsearch(options: &mut Options<'_>) -> Rules {
    let codes = options
        .integers("dlq_custom_codes")
        .doc("Statuses of items, besides 400 and 404, that go to the dead letter queue.")
        .optional()
        .unwrap_or_default();
    let dropped = options
        .strings("drop_error_types")
        .doc("Error types whose events are dropped, never dead-lettered or retried.")
        .optional()
        .unwrap_or_default();
    let mut silent = options
        .strings("silence_errors_in_log")
        .doc("Error types of dropped and retried items that are not logged.")
        .optional()
        .unwrap_or_default();
    let old = options
        .strings("failure_type_logging_whitelist")
        .doc("Old name of `silence_errors_in_log`.")
        .deprecated("use `silence_errors_in_log`")
        .optional();
    silent.extend(old.unwrap_or_default());
    let problem = |code: i64| match code {
        400 | 404 => Some("is already defined as standard DLQ error codes (400, 404): leave it out"),
        200 | 201 => Some("is among the success codes which cannot be redefined"),
        409 => Some("is already defined as conflict: such events are dropped"),
        _ => None,
    };
    for code in &codes {
        if let Some(problem) = problem(*code) {
            options.invalid("dlq_custom_codes", format!("`dlq_custom_codes`: {code} {problem}"));
        }
    }
    let enabled = options.context().dead_letters.is_enabled();
    if !codes.is_empty() && !enabled {
        options.invalid(
            "dlq_custom_codes",
            "`dlq_custom_codes` is configured while DLQ is not enabled: set \
             `dead_letter_queue.enable: true`",
        );
    }
    Rules { custom_codes: codes, dropped, silent, dead_letters: enabled }
}

/// Reads those of `opensearch`.
pub(super) fn opensearch(options: &mut Options<'_>) -> Rules {
    let silent = options
        .strings("failure_type_logging_whitelist")
        .doc("Error types of dropped and retried items that are not logged.")
        .optional()
        .unwrap_or_default();
    let dead_letters = options.context().dead_letters.is_enabled();
    Rules { custom_codes: Vec::new(), dropped: Vec::new(), silent, dead_letters }
}
