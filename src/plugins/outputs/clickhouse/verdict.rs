//! What follows from an answer that is no success.

use super::reply::Failure;

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The rows are stored.
    Stored,
    /// The node is left out for a while, the next one is tried at once.
    NodeFault,
    /// Too many parts: this table waits, others go on.
    TablePauses,
    /// Later, on any node. Nobody knows whether the rows were stored.
    Unclear,
    /// Later, on any node.
    Later,
    /// A row cannot be stored.
    BadData,
    /// The table is not there, or is another one.
    Schema,
    /// Somebody has to change rights or settings.
    Access,
    /// Only this table is denied.
    TableDenied,
    /// Half as much at a time.
    TooLarge,
}

/// Codes that refuse to start, too: user, password, rights.
pub(super) const LOGIN: [u32; 5] = [192, 193, 194, 497, 516];
/// Setting that the server does not know.
pub(super) const UNKNOWN_SETTING: u32 = 115;
/// Other codes of what only an operator can change.
const CONFIGURATION: [u32; 6] = [62, 73, UNKNOWN_SETTING, 36, 164, 452];

/// Whether a pipeline does not start with a server that answers so.
pub(super) fn forbids_start(code: u32) -> bool {
    LOGIN.contains(&code) || CONFIGURATION.contains(&code)
}

impl Verdict {
    /// By the number; by the HTTP status when there is none. `excluding` are the user's codes of broken nodes.
    pub fn on(failure: &Failure, excluding: &[u32]) -> Self {
        let Some(code) = failure.code else { return Self::on_status(failure.status) };
        if excluding.contains(&code) {
            return Self::NodeFault;
        }
        match code {
            389 => Self::Stored,
            242 | 243 => Self::NodeFault,
            252 => Self::TablePauses,
            319 => Self::Unclear,
            6 | 25 | 26 | 27 | 33 | 38 | 41 | 53 | 70 | 72 | 117 | 128 | 130 | 131 | 190 | 321 | 349 | 376 | 407
            | 441 | 467 | 469 => Self::BadData,
            8 | 10 | 16 | 20 | 47 | 60 | 81 | 366 => Self::Schema,
            497 => Self::TableDenied,
            229 | 307 | 396 => Self::TooLarge,
            _ if LOGIN.contains(&code) || CONFIGURATION.contains(&code) => Self::Access,
            // Overload (202, 241, 159, 203, 209, 439, 364), the cluster's state (225, 999, 285, 254, 265, 279, 286,
            // 236), and what nobody has heard of.
            _ => Self::Later,
        }
    }

    fn on_status(status: u16) -> Self {
        match status {
            413 => Self::TooLarge,
            502..=504 => Self::NodeFault,
            _ => Self::Later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(status: u16, code: Option<u32>) -> Verdict {
        Verdict::on(&Failure { status, code, row: None, message: String::new() }, &[210, 1002])
    }

    #[test]
    fn the_number_decides_not_the_status() {
        for (code, verdict) in [
            (389, Verdict::Stored),
            (210, Verdict::NodeFault),
            (1002, Verdict::NodeFault),
            (242, Verdict::NodeFault),
            (252, Verdict::TablePauses),
            (202, Verdict::Later),
            (241, Verdict::Later),
            (279, Verdict::Later),
            (285, Verdict::Later),
            (999, Verdict::Later),
            (4711, Verdict::Later),
            (319, Verdict::Unclear),
            (27, Verdict::BadData),
            (117, Verdict::BadData),
            (60, Verdict::Schema),
            (516, Verdict::Access),
            (497, Verdict::TableDenied),
            (115, Verdict::Access),
            (229, Verdict::TooLarge),
        ] {
            for status in [200, 400, 404, 500, 503] {
                assert_eq!(on(status, Some(code)), verdict, "{code}");
            }
        }
    }

    #[test]
    fn without_a_number_the_status_does() {
        assert_eq!(
            [413, 429, 500, 502, 503, 504, 404].map(|status| on(status, None)),
            [
                Verdict::TooLarge,
                Verdict::Later,
                Verdict::Later,
                Verdict::NodeFault,
                Verdict::NodeFault,
                Verdict::NodeFault,
                Verdict::Later,
            ]
        );
    }
}
