//! The text that was read last. Events that come together mostly have the same time, to the second at least.

use crate::event::{Text, Timestamp};

/// A text and the instant that it names, or that it names none.
#[derive(Default)]
pub(crate) struct LastRead(Option<(Text, Option<Timestamp>)>);

impl LastRead {
    /// What `read` makes of a text. It is not asked again for the same text at once.
    #[inline]
    pub fn or_read(&mut self, text: &Text, read: impl FnOnce() -> Option<Timestamp>) -> Option<Timestamp> {
        if let Some((known, at)) = &self.0
            && known == text
        {
            return *at;
        }
        let at = read();
        self.0 = Some((text.clone(), at));
        at
    }
}
