//! Reading streams in large pieces without holding memory for those that are silent.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, ready};

use tokio::io::AsyncRead;
use tokio_util::bytes::BufMut;
use tokio_util::io::poll_read_buf;

/// Bytes that all connections of an input may read at the same time.
const TOTAL: usize = 64 * 1024 * 1024;
/// Least and most bytes of one read.
const PIECE: (usize, usize) = (16 * 1024, 256 * 1024);

/// Divides the memory for reads among the open connections of an input.
#[derive(Clone, Default)]
pub(in crate::plugins::inputs) struct Readers(Arc<AtomicUsize>);

/// A connection's place among the others.
pub(in crate::plugins::inputs) struct Place(Arc<AtomicUsize>);

impl Readers {
    /// For a new connection.
    pub fn enter(&self) -> Place {
        self.0.fetch_add(1, Ordering::Relaxed);
        Place(self.0.clone())
    }
}

impl Place {
    /// Most bytes of its next read.
    pub fn share(&self) -> usize {
        (TOTAL / self.0.load(Ordering::Relaxed).max(1)).clamp(PIECE.0, PIECE.1)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

thread_local! {
    /// A buffer for whoever polls next on this thread.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Waits for bytes and takes what is there, up to `most`; nothing at the end of the stream. Can be cancelled.
pub(in crate::plugins::inputs) async fn read_piece<S>(stream: &mut S, most: usize) -> io::Result<Option<Vec<u8>>>
where
    S: AsyncRead + Unpin + ?Sized,
{
    poll_fn(|context| {
        let mut buffer = spare(most);
        while let left @ 1.. = most.saturating_sub(buffer.len()) {
            match poll_read_buf(Pin::new(&mut *stream), context, &mut (&mut buffer).limit(left)) {
                Poll::Ready(Ok(1..)) => {}
                // An end or error comes again with the next call.
                _ if !buffer.is_empty() => break,
                nothing => {
                    SPARE.set(std::mem::take(&mut buffer));
                    ready!(nothing)?;
                    return Poll::Ready(Ok(None));
                }
            }
        }
        Poll::Ready(Ok(Some(fitting(buffer))))
    })
    .await
}

/// An empty buffer with room for so many bytes.
pub(in crate::plugins::inputs) fn spare(room: usize) -> Vec<u8> {
    let mut buffer = SPARE.take();
    buffer.reserve_exact(room);
    buffer
}

/// The bytes in no much larger memory than they need: events that are made of them hold all of it.
pub(in crate::plugins::inputs) fn fitting(mut buffer: Vec<u8>) -> Vec<u8> {
    if buffer.len() > buffer.capacity() / 2 {
        return buffer;
    }
    let bytes = buffer.as_slice().to_vec();
    buffer.clear();
    SPARE.set(buffer);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn what_is_there_comes_at_once_and_then_the_end() {
        let (mut ours, mut theirs) = tokio::io::duplex(1024);
        theirs.write_all(b"abc").await.unwrap();
        assert_eq!(read_piece(&mut ours, 2).await.unwrap().as_deref(), Some(&b"ab"[..]));
        theirs.write_all(b"de").await.unwrap();
        assert_eq!(read_piece(&mut ours, 100).await.unwrap().as_deref(), Some(&b"cde"[..]));
        drop(theirs);
        assert_eq!(read_piece(&mut ours, 100).await.unwrap(), None);
    }

    #[test]
    fn many_connections_share_the_memory() {
        let readers = Readers::default();
        let places: Vec<Place> = (0..5000).map(|_| readers.enter()).collect();
        assert_eq!(places[0].share(), 16 * 1024);
        drop(places);
        assert_eq!(readers.enter().share(), 256 * 1024);
    }
}
