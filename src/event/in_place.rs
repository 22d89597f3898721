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
}
