//! The bodies of bulk requests: how a batch is cut, and how its pieces are packed.

use std::io::Write;
use std::ops::Range;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::action::Action;

/// Cuts actions into requests: ranges of the slice. A request is cut before the action that would make its body larger
/// than `target` bytes, before compression; an action larger than that goes alone.
pub(super) fn split(actions: &[Action], target: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut size) = (0, 0);
    for (at, action) in actions.iter().enumerate() {
        if at > start && size + action.size() > target {
            ranges.push(start..at);
            (start, size) = (at, 0);
        }
        size += action.size();
    }
    if start < actions.len() {
        ranges.push(start..actions.len());
    }
    ranges
}

/// The body of a request, and its size before compression.
pub(super) fn pack(bytes: &[u8], actions: &[Action], level: u32) -> (Vec<u8>, usize) {
    let size = actions.iter().map(Action::size).sum();
    if level == 0 {
        let mut body = Vec::with_capacity(size);
        for run in runs(actions) {
            body.extend_from_slice(bytes.get(run).unwrap_or_default());
        }
        return (body, size);
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(size / 4), Compression::new(level));
    for run in runs(actions) {
        // Writing to memory cannot fail.
        let _ = encoder.write_all(bytes.get(run).unwrap_or_default());
    }
    (encoder.finish().unwrap_or_default(), size)
}

/// Actions that lie side by side in the bytes are taken together.
fn runs(actions: &[Action]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for action in actions {
        match runs.last_mut() {
            Some(run) if run.end == action.start => run.end = action.end,
            _ => runs.push(action.start..action.end),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::action::Kind;
    use super::*;

    const TARGET_BYTES: usize = 20 * 1024 * 1024;

    fn split(actions: &[Action]) -> Vec<Range<usize>> {
        super::split(actions, TARGET_BYTES)
    }

    fn actions(sizes: &[usize]) -> Vec<Action> {
        let mut end = 0;
        let mut place = |size: usize| {
            end += size;
            Action { event: 0, kind: Kind::Index, start: end - size, line_end: end, end, id: None }
        };
        sizes.iter().map(|size| place(*size)).collect()
    }

    #[test]
    fn a_batch_is_cut_before_the_action_that_would_pass_the_limit() {
        let nine = 9_000_000;
        assert_eq!(split(&actions(&[nine; 5])), [0..2, 2..4, 4..5]);
        assert_eq!(split(&actions(&[TARGET_BYTES - 1, 1, 1])), [0..2, 2..3]);
        assert_eq!(split(&actions(&[1, TARGET_BYTES * 2, 1])), [0..1, 1..2, 2..3]);
        assert!(split(&[]).is_empty());
    }

    #[test]
    fn chosen_actions_are_packed_byte_for_byte() {
        let bytes = b"aabbccdd";
        let mut chosen = actions(&[2, 2, 2, 2]);
        chosen.remove(1);
        assert_eq!(pack(bytes, &chosen, 0), (b"aaccdd".to_vec(), 6));
        let (packed, size) = pack(bytes, &chosen, 1);
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut plain).unwrap();
        assert_eq!((plain.as_slice(), size), (b"aaccdd".as_slice(), 6));
    }
}
