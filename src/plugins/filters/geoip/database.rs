//! MaxMind database files, and what they have of an address. Answers are remembered.

use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use maxminddb::{LookupResult, MaxMindDbError, Reader, path};
use quick_cache::sync::Cache;

use super::fields::{Field, Kind, PARTS, Part};
use crate::event::{Map, Text, Value};
use crate::plugins::refresh::{Every, Refreshed};

/// How often a database file is looked at.
const EVERY: Every = Every::IfChanged(Duration::from_secs(60));

/// What a database has of an address, by [`Field::index`].
pub(super) struct Record([Option<Value>; Field::COUNT]);

impl Record {
    /// The value of a field, if the address has one.
    pub fn get(&self, field: Field) -> Option<&Value> {
        self.0.get(field.index())?.as_ref()
    }

    fn set(&mut self, field: Field, value: impl Into<Value>) {
        if let Some(slot) = self.0.get_mut(field.index()) {
            *slot = Some(value.into());
        }
    }
}

/// An open database.
pub(super) struct Database {
    reader: Reader<Vec<u8>>,
    /// `None` for a type that Logstash does not know either.
    kind: Option<Kind>,
    known: Cache<IpAddr, Option<Arc<Record>>>,
}

impl Database {
    /// The database of a file, once for all filters with a cache of the same size; opened again when it changes.
    pub fn shared(path: &Path, cache_size: usize) -> Result<Arc<Refreshed<Self>>, String> {
        Refreshed::shared(format!("{} {cache_size}", path.display()), || {
            Refreshed::open(path, EVERY, move |path, _| Self::open(path, cache_size))
        })
    }

    fn open(path: &Path, cache_size: usize) -> Result<Self, String> {
        let reader = Reader::open_readfile(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let database_type = &reader.metadata().database_type;
        let kind = Kind::of(database_type);
        if kind.is_none() {
            tracing::warn!(target: "logstash.filters.geoip", path = %path.display(),
                "the database type {database_type} is not known, nothing will be found in it");
        }
        Ok(Self { kind, reader, known: Cache::new(cache_size) })
    }

    /// What kind of data it has.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// What it has of an address; `None` when it has nothing that can be used.
    pub fn find(&self, address: IpAddr) -> Option<Arc<Record>> {
        if let Some(found) = self.known.get(&address) {
            return found;
        }
        let found = self.kind.and_then(|kind| match self.read(address, kind) {
            Ok(found) => found.map(Arc::new),
            Err(error) => {
                tracing::warn!(target: "logstash.filters.geoip", "the database cannot be read at {address}: {error}");
                None
            }
        });
        self.known.insert(address, found.clone());
        found
    }

    fn read(&self, address: IpAddr, kind: Kind) -> Result<Option<Record>, MaxMindDbError> {
        let result = self.reader.lookup(address)?;
        if !result.has_data() {
            return Ok(None);
        }
        let mut record = Record([const { None }; Field::COUNT]);
        record.set(Field::Ip, written(address));
        let network = result.network()?;
        record.set(Field::Network, format!("{}/{}", written(network.ip()), network.prefix()));
        for (field, part, path) in PARTS {
            match part {
                Part::Text => {
                    if let Some(text) = result.decode_path::<&str>(path)? {
                        record.set(*field, text);
                    }
                }
                Part::Integer => {
                    if let Some(number) = result.decode_path::<i64>(path)? {
                        record.set(*field, number);
                    }
                }
                Part::Flag => record.set(*field, result.decode_path::<bool>(path)?.unwrap_or(false)),
            }
        }
        let has_place = set_location(&result, &mut record)?;
        set_region(&mut record);
        // Without coordinates an address counts as unknown.
        Ok((kind != Kind::City || has_place).then_some(record))
    }
}

fn set_location(result: &LookupResult<'_, Vec<u8>>, record: &mut Record) -> Result<bool, MaxMindDbError> {
    let latitude: Option<f64> = result.decode_path(&path!["location", "latitude"])?;
    let longitude: Option<f64> = result.decode_path(&path!["location", "longitude"])?;
    let (Some(latitude), Some(longitude)) = (latitude, longitude) else { return Ok(false) };
    record.set(Field::Latitude, latitude);
    record.set(Field::Longitude, longitude);
    let location = [(Text::borrowed("lon"), longitude), (Text::borrowed("lat"), latitude)];
    record.set(Field::Location, location.into_iter().collect::<Map>());
    Ok(true)
}

/// `US-CA`
fn set_region(record: &mut Record) {
    let text = |field| record.get(field).and_then(Value::as_str);
    if let (Some(country), Some(region)) = (text(Field::CountryCode2), text(Field::RegionCode)) {
        let code = format!("{country}-{region}");
        record.set(Field::RegionIsoCode, code);
    }
}

/// As Java writes addresses: IPv6 with all its groups.
fn written(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => groups(address),
    }
}

fn groups(address: Ipv6Addr) -> String {
    address.segments().map(|group| format!("{group:x}")).join(":")
}
