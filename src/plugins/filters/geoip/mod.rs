//! `geoip`: where an address is, or whose it is, by a MaxMind database.

mod database;
mod fields;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use database::Database;
use fields::{Field, Kind};

use crate::event::{Event, FieldError, FieldRef, Map, Value};
use crate::plugins::refresh::Refreshed;
use crate::plugins::{Ecs, Filter, FilterBatch, FilterPlugin, Options, Outcome, PluginError};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "geoip", summary: "Looks addresses up in a MaxMind database.", build };

/// Targets that the common schema has.
const ECS_TARGETS: &[&str] = &["client", "destination", "host", "observer", "server", "source"];

struct GeoIp {
    source: FieldRef,
    target: FieldRef,
    /// What to set for each kind of database, and where.
    places: Vec<(Kind, Vec<Place>)>,
    tag_on_failure: Vec<String>,
    skip_private: bool,
    file: File,
    cache_size: usize,
    opened: OnceLock<Arc<Refreshed<Database>>>,
}

/// A field, and where it goes.
type Place = (Field, FieldRef);

/// Where the database is.
enum File {
    Given(PathBuf),
    /// The first of these that is there.
    AnyOf(Vec<PathBuf>),
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let is_flat = Ecs::read(options).is_disabled();
    let source = options.field("source").doc("Field with the address.").required();
    let target = options.field("target").doc("Field that takes what was found.").optional();
    let target = target.or_else(|| usual_target(options, &source, is_flat)).unwrap_or_default();
    if !is_flat && !target.path().first().is_some_and(|first| ECS_TARGETS.contains(&first.name.as_str())) {
        let message =
            format!("the common schema has no geo fields below `{target}`, only below {}", ECS_TARGETS.join(", "));
        options.warn("target", "odd-target", message);
    }
    let database = options.path("database").doc("The .mmdb file.").optional();
    let kind = options.word("default_database_type", &["City", "ASN"]);
    let kind = kind.doc("Which GeoLite2 database is looked for when none is given.").default("City".to_owned());
    let fields = read_fields(options);
    let cache_size = options.integer("cache_size").doc("How many answers are remembered.").default(1000);
    let tag_on_failure = options.strings("tag_on_failure").doc("Tags of an event whose address was not found.");
    let tag_on_failure = tag_on_failure.default(vec!["_geoip_lookup_failure".to_owned()]);
    let skip_private = options.boolean("skip_private");
    let skip_private =
        skip_private.doc("Whether private and local addresses are passed over without a tag.").default(false);
    let file = match database {
        Some(path) => File::Given(path),
        None => {
            let name = format!("GeoLite2-{kind}.mmdb");
            let context = options.context();
            let folders = [Some(context.path_data.join("geoip")), context.path_settings.clone()];
            File::AnyOf(folders.into_iter().flatten().map(|folder| folder.join(&name)).collect())
        }
    };
    let places = Kind::ALL.map(|kind| {
        let fields = fields.as_deref().unwrap_or_else(|| kind.usual(is_flat));
        (kind, fields.iter().filter_map(|field| Some((*field, field.place(&target, is_flat)?))).collect())
    });
    Box::new(GeoIp {
        source,
        target,
        places: places.into(),
        tag_on_failure,
        skip_private,
        file,
        cache_size: usize::try_from(cache_size).unwrap_or(0).max(1),
        opened: OnceLock::new(),
    })
}

/// Without ECS `geoip`, else the field that the address is in as `ip`.
fn usual_target(options: &mut Options<'_>, source: &FieldRef, is_flat: bool) -> Option<FieldRef> {
    if is_flat {
        return Some(FieldRef::top("geoip"));
    }
    let outer = source.text().strip_suffix("[ip]").filter(|outer| !outer.is_empty());
    let target = outer.and_then(|outer| FieldRef::parse(outer, options.context().escape_style).ok());
    if target.is_none() && options.is_set("source") {
        let message = "GeoIP Filter in ECS-Compatibility mode requires a `target` when `source` is not an `ip` sub-field, \
            eg. [client][ip]";
        options.invalid("source", message);
    }
    target
}

fn read_fields(options: &mut Options<'_>) -> Option<Vec<Field>> {
    let names = options.strings("fields").doc("What to set; without it what is usual for the database.").optional()?;
    let mut fields = Vec::new();
    for name in names {
        match Field::named(&name) {
            Some(field) => fields.push(field),
            None => {
                let known: Vec<_> = Field::names().collect();
                options.invalid("fields", format!("illegal field value {name}. valid values are {}", known.join(", ")));
            }
        }
    }
    Some(fields)
}

impl Filter for GeoIp {
    fn register(&self) -> Result<(), PluginError> {
        let path = match &self.file {
            File::Given(path) => path,
            File::AnyOf(places) => match places.iter().find(|place| place.exists()) {
                Some(path) => path,
                None => {
                    let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
                    tracing::warn!(target: "logstash.filters.geoip", "no database is given with `database`, and there \
                        is none at {}: no address will be found", places.join(" or "));
                    return Ok(());
                }
            },
        };
        let _ = self.opened.set(Database::shared(path, self.cache_size).map_err(PluginError::new)?);
        Ok(())
    }

    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let database = self.opened.get().map(|file| file.current());
        let kind = database.as_ref().and_then(|database| database.kind());
        let places = self.places.iter().find(|(of, _)| Some(*of) == kind);
        let places = places.map(|(_, places)| places.as_slice()).unwrap_or_default();
        batch.each(|event| match self.apply(event, database.as_deref(), places) {
            Ok(Found::Something) => Outcome::Matched,
            Ok(Found::Skipped) => Outcome::Unmatched,
            Ok(Found::Nothing) => self.failed(event),
            Err(error) => {
                tracing::warn!(target: "logstash.filters.geoip", target = %self.target, "{error}");
                self.failed(event)
            }
        });
    }
}

/// What became of an event.
enum Found {
    Something,
    Nothing,
    /// It was not looked up, as was wished.
    Skipped,
}

/// What the source of an event is.
enum Address {
    Missing,
    Invalid,
    Valid(IpAddr),
}

impl GeoIp {
    fn apply(&self, event: &mut Event, database: Option<&Database>, places: &[Place]) -> Result<Found, FieldError> {
        let address = match address(event.get(&self.source)) {
            Address::Missing => return Ok(Found::Nothing),
            Address::Valid(address) if self.skip_private && is_private(address) => return Ok(Found::Skipped),
            Address::Valid(address) => Some(address),
            Address::Invalid => None,
        };
        let Some(database) = database else { return Ok(Found::Nothing) };
        let record = address.and_then(|address| database.find(address));
        self.prepare_target(event)?;
        let mut found = Found::Nothing;
        for (field, place) in places {
            if let Some(value) = record.as_ref().and_then(|record| record.get(*field)) {
                event.set(place, value.clone())?;
                found = Found::Something;
            }
        }
        Ok(found)
    }

    /// The target is there afterwards, whatever was found.
    fn prepare_target(&self, event: &mut Event) -> Result<(), FieldError> {
        match event.get(&self.target) {
            None | Some(Value::Null) => event.set(&self.target, Map::new()),
            Some(_) => Ok(()),
        }
    }

    fn failed(&self, event: &mut Event) -> Outcome {
        self.tag_on_failure.iter().for_each(|tag| event.tag(tag));
        Outcome::Unmatched
    }
}

/// Of a list its first element. Names are not looked up.
fn address(value: Option<&Value>) -> Address {
    let value = match value {
        Some(Value::Array(list)) => list.first(),
        other => other,
    };
    match value {
        None | Some(Value::Null) => Address::Missing,
        Some(Value::String(text)) if text.trim().is_empty() => Address::Missing,
        Some(Value::String(text)) => match text.trim().parse::<IpAddr>() {
            Ok(address) => Address::Valid(address.to_canonical()),
            Err(_) => Address::Invalid,
        },
        Some(_) => Address::Invalid,
    }
}

/// Addresses that no database can know.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let is_shared = matches!(v4.octets(), [100, 64..=127, _, _]);
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_unspecified() || is_shared
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}
