//! Datagrams, as many at a time as are there.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use tokio::net::UdpSocket;
use tokio_util::bytes::BufMut;

use super::listener::canonical;
use super::reader::{fitting, spare};
use crate::event::{Bytes, Event, EventStream, Text, Timestamp};
use crate::plugins::Decoders;

/// No datagram is larger.
pub(in crate::plugins::inputs) const LARGEST: usize = 65_536;
/// Bytes that are received together, and most datagrams.
const BURST: (usize, usize) = (256 * 1024, 512);
/// Most senders whose addresses are kept as texts.
const SENDERS: usize = 1_000;

/// Receives datagrams.
pub(in crate::plugins::inputs) struct Datagrams {
    socket: UdpSocket,
    /// What is longer is cut.
    largest: usize,
    senders: HashMap<IpAddr, Text>,
}

/// Datagrams that came together, in one piece of memory.
pub(in crate::plugins::inputs) struct Burst {
    pub bytes: Bytes,
    /// Where each one lies, and the address of its sender.
    pub datagrams: Vec<(Range<usize>, Text)>,
}

impl Burst {
    /// The events of the datagrams, each decoded and flushed for itself, and the sender of each event.
    pub fn decoded(self, decoders: &Decoders) -> (EventStream, Vec<Text>) {
        let Self { bytes, datagrams } = self;
        if let Some(messages) = decoders.messages() {
            let now = Timestamp::now();
            let (ranges, senders): (Vec<_>, Vec<_>) = datagrams.into_iter().unzip();
            let mut ranges = ranges.into_iter();
            let events = EventStream::lazy(senders.len(), move |most, out| {
                for range in ranges.by_ref().take(most) {
                    messages.push_event(messages.text(bytes.slice(range).unwrap_or_default()), now, out);
                }
            });
            return (events, senders);
        }
        let (mut events, mut senders) = (Vec::new(), Vec::new());
        for (range, sender) in datagrams {
            let mut decoder = decoders.create();
            decoder.decode(bytes.slice(range).unwrap_or_default(), &mut events);
            decoder.flush(&mut events);
            senders.resize(events.len(), sender);
        }
        (events.into(), senders)
    }
}

/// The same events; `change` is called with each and what belongs to it.
pub(in crate::plugins::inputs) fn each_with<T: Send + 'static>(
    events: EventStream,
    with: Vec<T>,
    change: impl Fn(&mut Event, &T) + Send + 'static,
) -> EventStream {
    // Events are taken one after the other, each once.
    let next = Cell::new(0);
    events.each(move |event| {
        let at = next.get();
        next.set(at + 1);
        if let Some(with) = with.get(at) {
            change(event, with);
        }
    })
}

impl Datagrams {
    /// From a bound socket. `largest` is how much of a datagram is wanted.
    pub fn new(socket: UdpSocket, largest: usize) -> Self {
        Self { socket, largest: largest.clamp(1, LARGEST), senders: HashMap::new() }
    }

    /// Waits for datagrams and takes those that are there; empty ones are left out. Can be cancelled.
    pub async fn receive(&mut self) -> io::Result<Burst> {
        loop {
            self.socket.readable().await?;
            let mut buffer = spare(BURST.0);
            let mut datagrams = Vec::new();
            while buffer.capacity() - buffer.len() >= self.largest && datagrams.len() < BURST.1 {
                let start = buffer.len();
                match self.socket.try_recv_buf_from(&mut (&mut buffer).limit(self.largest)) {
                    Ok((0, _)) => {}
                    Ok((length, peer)) => datagrams.push((start..start + length, self.sender(peer))),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // What could not be delivered earlier by us is no error of what comes in.
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                    Err(error) if datagrams.is_empty() => return Err(error),
                    Err(_) => break,
                }
            }
            if !datagrams.is_empty() {
                return Ok(Burst { bytes: Bytes::from(fitting(buffer)), datagrams });
            }
        }
    }

    fn sender(&mut self, peer: SocketAddr) -> Text {
        let address = canonical(peer).ip();
        if let Some(text) = self.senders.get(&address) {
            return text.clone();
        }
        let text = Text::from(address.to_string());
        if self.senders.len() >= SENDERS {
            self.senders.clear();
        }
        self.senders.insert(address, text.clone());
        text
    }
}
