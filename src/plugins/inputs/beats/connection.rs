//! One connection of a Beat: windows of events come in, each is acknowledged once the pipeline has dealt with it.
//!
//! Reading goes on while a window waits for that, as senders do not wait either; two windows are held at most. Until a
//! window is dealt with the sender hears every five seconds that somebody still works on it, so that it does not send
//! it again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::frames::{Content, Frame, FrameError, Frames};
use super::objects::{BadObject, Objects, object};
use crate::acknowledgement::Lease;
use crate::event::{Event, FieldRef, Text, Value};
use crate::plugins::inputs::net::datagrams::each_with;
use crate::plugins::inputs::net::marks::set;
use crate::plugins::inputs::net::reader::{Place, read_piece};
use crate::plugins::{Decoder, InputSink, Stop};
use crate::queue::Closed;

/// Silence after which a sender that waits is told that its window is being worked on.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Largest window.
const MOST_EVENTS: u32 = 1_000_000;

/// What a connection works with.
pub(super) struct Connection<'c> {
    pub objects: &'c Objects,
    pub decoder: Box<dyn Decoder>,
    /// Fields that tell of the sender.
    pub marks: Vec<(FieldRef, Value)>,
    pub place: Place,
    /// Silence of the sender after which the connection is closed.
    pub silence: Option<Duration>,
}

/// Why a connection ended before the sender closed it.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Object(#[from] BadObject),
    #[error("a window of {0} events is larger than the {MOST_EVENTS} that are taken")]
    Window(u32),
    #[error(transparent)]
    Broken(#[from] io::Error),
    #[error("nothing came for {} s", .0.as_secs())]
    Silent(Duration),
    #[error("the events of a window were not delivered; the sender has to send them again")]
    NotDelivered,
    #[error("the pipeline takes nothing more")]
    Closed(#[from] Closed),
}

/// A window that waits for the pipeline.
struct Waiting {
    version: u8,
    highest: u32,
    settled: oneshot::Receiver<bool>,
}

/// Events of a window that has not come whole.
#[derive(Default)]
struct Window {
    /// Of its first frame.
    version: u8,
    expected: u32,
    received: u32,
    highest: u32,
    events: Vec<Event>,
    tags: Vec<Option<Text>>,
}

impl Connection<'_> {
    /// Reads until the sender closes, something is wrong, or the input is to stop; then waits for what the pipeline
    /// still has.
    pub async fn run<S: AsyncRead + AsyncWrite + Send>(
        self,
        stream: S,
        sink: &InputSink,
        stop: &Stop,
    ) -> Result<(), End> {
        let (reader, writer) = split(stream);
        let (windows, waiting) = mpsc::channel(1);
        let pending = Arc::new(AtomicUsize::new(0));
        let acknowledgements = acknowledge(writer, waiting, pending.clone());
        tokio::pin!(acknowledgements);
        let reads = Reading { connection: self, windows, pending, window: Window::default(), sink }.run(reader, stop);
        let read = tokio::select! {
            read = reads => read,
            failed = &mut acknowledgements => return failed,
        };
        // What came before a mistake is acknowledged all the same.
        acknowledgements.await.and(read)
    }
}

/// Tells the sender of each window that is dealt with, in order.
async fn acknowledge<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut waiting: mpsc::Receiver<Waiting>,
    pending: Arc<AtomicUsize>,
) -> Result<(), End> {
    while let Some(Waiting { version, highest, mut settled }) = waiting.recv().await {
        loop {
            tokio::select! {
                ok = &mut settled => {
                    if !ok.unwrap_or(false) {
                        return Err(End::NotDelivered);
                    }
                    pending.fetch_sub(1, Ordering::Relaxed);
                    tell(&mut writer, version, highest).await?;
                    break;
                }
                () = sleep(KEEP_ALIVE) => tell(&mut writer, b'2', 0).await?,
            }
        }
    }
    Ok(writer.shutdown().await?)
}

async fn tell<W: AsyncWrite + Unpin>(writer: &mut W, version: u8, sequence: u32) -> io::Result<()> {
    let mut frame = [version, b'A', 0, 0, 0, 0];
    frame[2..].copy_from_slice(&sequence.to_be_bytes());
    writer.write_all(&frame).await?;
    writer.flush().await
}

/// The reading side of a connection.
struct Reading<'c> {
    connection: Connection<'c>,
    windows: mpsc::Sender<Waiting>,
    /// Windows that are not acknowledged.
    pending: Arc<AtomicUsize>,
    window: Window,
    sink: &'c InputSink,
}

impl Reading<'_> {
    async fn run<R: AsyncRead + Unpin>(mut self, mut reader: R, stop: &Stop) -> Result<(), End> {
        let mut frames = Frames::default();
        loop {
            let piece = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                piece = self.piece(&mut reader) => piece?,
            };
            let Some(piece) = piece else { return Ok(()) };
            frames.push(&piece);
            while let Some(frame) = frames.next_frame()? {
                self.take(frame).await?;
            }
        }
    }

    /// The next bytes, once there is room for another window.
    async fn piece<R: AsyncRead + Unpin>(&mut self, reader: &mut R) -> Result<Option<Vec<u8>>, End> {
        // Fails only when nobody acknowledges any more, which ends the connection.
        drop(self.windows.reserve().await);
        loop {
            let read = read_piece(reader, self.connection.place.share());
            let Some(silence) = self.connection.silence else { return Ok(read.await?) };
            match timeout(silence, read).await {
                Ok(read) => return Ok(read?),
                // A sender that waits for us is not silent.
                Err(_) if self.pending.load(Ordering::Relaxed) > 0 => {}
                Err(_) => return Err(End::Silent(silence)),
            }
        }
    }

    async fn take(&mut self, Frame { version, content }: Frame) -> Result<(), End> {
        match content {
            Content::Window(expected) => {
                if self.window.received > 0 {
                    tracing::warn!(target: "logstash.inputs.beats", received = self.window.received,
                        expected = self.window.expected, "a window ended before all its events came");
                    self.hand_over().await?;
                }
                if expected > MOST_EVENTS {
                    return Err(End::Window(expected));
                }
                self.window = Window { version, expected, ..Window::default() };
                if expected == 0 {
                    self.hand_over().await?;
                }
            }
            Content::Event(sequence, body) => {
                self.window.add(&mut self.connection, version, sequence, object(body)?);
                if self.window.received >= self.window.expected {
                    self.hand_over().await?;
                }
            }
        }
        Ok(())
    }

    /// Gives a window to the pipeline. Whoever acknowledges hears of it first, so that the sender is told that it is
    /// worked on also while the queue is full.
    async fn hand_over(&mut self) -> Result<(), End> {
        let Window { version, highest, events, tags, .. } = std::mem::take(&mut self.window);
        let (dealt_with, settled) = oneshot::channel();
        self.pending.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting { version, highest, settled };
        self.windows.send(waiting).await.map_err(|_| End::NotDelivered)?;
        // Nobody listens any more when the sender has gone.
        let lease = Lease::new(move |ok| _ = dealt_with.send(ok));
        let events = each_with(self.sink.decorated(events), tags, |event, tag| {
            tag.iter().for_each(|tag| event.append_tag(tag.clone()));
        });
        Ok(self.sink.push_decorated(events, Some(lease)).await?)
    }
}

impl Window {
    fn add(&mut self, connection: &mut Connection<'_>, version: u8, sequence: u32, object: crate::event::Map) {
        if self.expected == 0 {
            // An event that no window announced is one of its own.
            (self.version, self.expected) = (version, 1);
        }
        let first = self.events.len();
        connection.objects.events(object, &mut *connection.decoder, &mut self.events, &mut self.tags);
        for event in self.events.get_mut(first..).unwrap_or_default() {
            connection.marks.iter().for_each(|(field, value)| set(event, field, value.clone()));
        }
        self.received += 1;
        self.highest = self.highest.max(sequence);
    }
}
