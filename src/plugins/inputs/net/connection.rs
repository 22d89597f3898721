//! One stream of bytes on its way into the pipeline.

use std::io;
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::time::{sleep, timeout};

use super::reader::{Place, read_piece};
use crate::event::{Bytes, Event, EventStream};
use crate::plugins::codecs::line::TOO_LONG;
use crate::plugins::{Decoder, InputSink, Stop};
use crate::queue::Closed;

/// How much of an unfinished line a sender can make this process hold.
pub(in crate::plugins::inputs) const LONGEST_LINE: usize = 20 * 1024 * 1024;

/// Bytes of a peer, decrypted.
pub(in crate::plugins::inputs) type Stream = Box<dyn AsyncRead + Send + Unpin>;

/// A stream with what makes events of it.
pub(in crate::plugins::inputs) struct Connection<M> {
    /// The stream's own decoder.
    pub decoder: Box<dyn Decoder>,
    /// Puts the common options on its events, and before or after them what they say of the peer.
    pub mark: M,
    /// Its share of the memory for reads.
    pub place: Place,
    /// How long the peer may be silent.
    pub silence: Option<Duration>,
}

/// How a stream ended.
#[derive(Debug)]
pub(in crate::plugins::inputs) enum End {
    /// The peer closed it.
    Closed,
    /// The peer was silent for too long.
    Silent,
    /// The connection broke.
    Broken(io::Error),
    /// The input is to stop.
    Stopped,
}

impl<M: Fn(&InputSink, EventStream) -> EventStream + Send> Connection<M> {
    /// Reads until the stream ends or the input is asked to stop. While the queue is full nothing is read.
    pub async fn run(mut self, mut stream: Stream, sink: &InputSink, stop: &Stop) -> End {
        let end = loop {
            let read = read_piece(&mut stream, self.place.share());
            let flush_after = self.decoder.flush_after().filter(|_| self.decoder.held() > 0);
            let read = tokio::select! {
                biased;
                () = stop.cancelled() => break End::Stopped,
                read = within(self.silence, read) => read,
                () = after(flush_after) => {
                    if self.flush(sink, None).await.is_err() {
                        return End::Stopped;
                    }
                    continue;
                }
            };
            let piece = match read {
                Some(Ok(Some(piece))) => piece,
                Some(Ok(None)) => break End::Closed,
                Some(Err(error)) => break End::Broken(error),
                None => break End::Silent,
            };
            let events = self.decoder.decode_chunk(Bytes::from(piece));
            if sink.push_decorated((self.mark)(sink, events), None).await.is_err() {
                return End::Stopped;
            }
            if self.decoder.held() > LONGEST_LINE && self.flush(sink, Some(TOO_LONG)).await.is_err() {
                return End::Stopped;
            }
        };
        // An unfinished message goes on as it is, before the peer and its fields are forgotten.
        // It fails only when the pipeline is gone.
        let _ = self.flush(sink, None).await;
        end
    }

    /// Gives out what the decoder holds back, with a tag that says why it is not whole.
    async fn flush(&mut self, sink: &InputSink, tag: Option<&str>) -> Result<(), Closed> {
        let mut held: Vec<Event> = Vec::new();
        self.decoder.flush(&mut held);
        if let Some(tag) = tag {
            tracing::warn!(target: "logstash.inputs", "a line without an end goes on in pieces, with the tag {tag}");
            held.iter_mut().for_each(|event| event.tag(tag));
        }
        sink.push_decorated((self.mark)(sink, held.into()), None).await
    }
}

/// Never, without a time.
async fn after(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}

async fn within<T>(limit: Option<Duration>, work: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => timeout(limit, work).await.ok(),
        None => Some(work.await),
    }
}
