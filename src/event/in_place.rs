//! Appending to a list without a detour over the stack.

/// Appends what `make` makes and returns it.
///
/// `Vec::push` takes its argument before it may grow, so a value of several words is first written to the stack in
/// pieces and then read back in larger ones, for which the processor has to wait. Here the list grows first, and the
/// value is made where it stays. A third of the cost of making an event, see `benches/event_model.rs`.
#[inline(always)]
pub(super) fn push_with<T>(list: &mut Vec<T>, make: impl FnOnce() -> T) -> &mut T {
    let at = list.len();
    if at == list.capacity() {
        list.reserve(1);
    }
    // SAFETY: the capacity is above `at`, so the place belongs to the list and holds nothing; it is counted only after
    // it was written. A panic in `make` leaves the list as it was.
    unsafe {
        let place = list.as_mut_ptr().add(at);
        place.write(make());
        list.set_len(at + 1);
        &mut *place
    }
}

/// Appends `before`, the first `length` bytes of `memory`, and `after`: a short text with what stands around it.
///
/// The list grows once, and all of the memory is copied, which takes one instruction; what is too much of it is
/// overwritten next.
#[inline(always)]
pub(super) fn append_short<const BEFORE: usize, const AFTER: usize>(
    list: &mut Vec<u8>,
    before: [u8; BEFORE],
    (memory, length): (&[u8; 16], usize),
    after: [u8; AFTER],
) {
    let length = length.min(memory.len());
    list.reserve(BEFORE + memory.len() + AFTER);
    // SAFETY: there is room for all of the memory and what stands around it, arrays of bytes may lie anywhere, and only
    // what was written is counted.
    unsafe {
        let end = list.as_mut_ptr().add(list.len());
        end.cast::<[u8; BEFORE]>().write(before);
        end.add(BEFORE).cast::<[u8; 16]>().write(*memory);
        end.add(BEFORE + length).cast::<[u8; AFTER]>().write(after);
        list.set_len(list.len() + BEFORE + length + AFTER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_keeps_what_is_there() {
        let mut list = Vec::new();
        for n in 0..100 {
            assert_eq!(*push_with(&mut list, || n.to_string()), n.to_string());
        }
        assert!(list.iter().enumerate().all(|(n, text)| *text == n.to_string()));
    }

    #[test]
    fn short_texts_of_every_length_lie_between_what_stands_around_them() {
        let mut list = Vec::new();
        for length in 0..=16 {
            append_short(&mut list, *b",<", (b"0123456789abcdef", length), *b">");
        }
        let expected: String = (0..=16).map(|length| format!(",<{}>", &"0123456789abcdef"[..length])).collect();
        assert_eq!(String::from_utf8(list).unwrap(), expected);
    }
}
