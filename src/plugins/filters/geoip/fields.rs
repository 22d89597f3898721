//! What a database can tell of an address: the names of the `fields` option, where they are in a record, and where
//! they go in an event.

use maxminddb::PathElement::{self, IndexFromEnd, Key};

use crate::event::FieldRef;

/// One thing that a database can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    CityName,
    ContinentCode,
    ContinentName,
    CountryName,
    CountryCode2,
    CountryCode3,
    Ip,
    PostalCode,
    DmaCode,
    RegionName,
    RegionCode,
    RegionIsoCode,
    Timezone,
    Location,
    Latitude,
    Longitude,
    AutonomousSystemNumber,
    AutonomousSystemOrganization,
    Isp,
    Organization,
    Domain,
    Network,
    HostingProvider,
    TorExitNode,
    AnonymousVpn,
    Anonymous,
    PublicProxy,
    ResidentialProxy,
}

use Field::*;

/// Name of the option, name without ECS, names with ECS (none: left out).
const NAMES: [(Field, &str, &str, &[&str]); Field::COUNT] = [
    (CityName, "CITY_NAME", "city_name", &["geo", "city_name"]),
    (ContinentCode, "CONTINENT_CODE", "continent_code", &["geo", "continent_code"]),
    (ContinentName, "CONTINENT_NAME", "continent_name", &["geo", "continent_name"]),
    (CountryName, "COUNTRY_NAME", "country_name", &["geo", "country_name"]),
    (CountryCode2, "COUNTRY_CODE2", "country_code2", &["geo", "country_iso_code"]),
    (CountryCode3, "COUNTRY_CODE3", "country_code3", &[]),
    (Ip, "IP", "ip", &["ip"]),
    (PostalCode, "POSTAL_CODE", "postal_code", &["geo", "postal_code"]),
    (DmaCode, "DMA_CODE", "dma_code", &["mmdb", "dma_code"]),
    (RegionName, "REGION_NAME", "region_name", &["geo", "region_name"]),
    (RegionCode, "REGION_CODE", "region_code", &["geo", "region_code"]),
    (RegionIsoCode, "REGION_ISO_CODE", "region_iso_code", &["geo", "region_iso_code"]),
    (Timezone, "TIMEZONE", "timezone", &["geo", "timezone"]),
    (Location, "LOCATION", "location", &["geo", "location"]),
    (Latitude, "LATITUDE", "latitude", &["geo", "location", "lat"]),
    (Longitude, "LONGITUDE", "longitude", &["geo", "location", "lon"]),
    (AutonomousSystemNumber, "AUTONOMOUS_SYSTEM_NUMBER", "asn", &["as", "number"]),
    (AutonomousSystemOrganization, "AUTONOMOUS_SYSTEM_ORGANIZATION", "as_org", &["as", "organization", "name"]),
    (Isp, "ISP", "isp", &["mmdb", "isp"]),
    (Organization, "ORGANIZATION", "organization", &["mmdb", "organization"]),
    (Domain, "DOMAIN", "domain", &["domain"]),
    (Network, "NETWORK", "network", &["ip_traits", "network"]),
    (HostingProvider, "HOSTING_PROVIDER", "hosting_provider", &["ip_traits", "hosting_provider"]),
    (TorExitNode, "TOR_EXIT_NODE", "tor_exit_node", &["ip_traits", "tor_exit_node"]),
    (AnonymousVpn, "ANONYMOUS_VPN", "anonymous_vpn", &["ip_traits", "anonymous_vpn"]),
    (Anonymous, "ANONYMOUS", "anonymous", &["ip_traits", "anonymous"]),
    (PublicProxy, "PUBLIC_PROXY", "public_proxy", &["ip_traits", "public_proxy"]),
    (ResidentialProxy, "RESIDENTIAL_PROXY", "residential_proxy", &["ip_traits", "residential_proxy"]),
];

impl Field {
    /// Number of fields.
    pub const COUNT: usize = 28;

    /// The field of an option's name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, option, ..)| option.eq_ignore_ascii_case(name)).map(|(field, ..)| *field)
    }

    /// All names of the option.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, option, ..)| *option)
    }

    /// Where it goes below the target; nowhere if the common schema has no place for it.
    pub fn place(self, target: &FieldRef, is_flat: bool) -> Option<FieldRef> {
        let (_, _, flat, ecs) = NAMES.iter().find(|(field, ..)| *field == self)?;
        if is_flat {
            return Some(target.child(&[flat]));
        }
        (!ecs.is_empty()).then(|| target.child(ecs))
    }

    /// Its place among the fields.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// What kind of data a database has; its name says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    City,
    Country,
    Asn,
    Isp,
    Domain,
    AnonymousIp,
    Enterprise,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::City, Self::Country, Self::Asn, Self::Isp, Self::Domain, Self::AnonymousIp, Self::Enterprise];

    /// By the type that the database says it has.
    pub fn of(database_type: &str) -> Option<Self> {
        [
            ("City", Self::City),
            ("Country", Self::Country),
            ("GeoIP2-Domain", Self::Domain),
            ("GeoLite2-ASN", Self::Asn),
            ("GeoIP2-ISP", Self::Isp),
            ("Enterprise", Self::Enterprise),
            ("GeoIP2-Anonymous-IP", Self::AnonymousIp),
        ]
        .into_iter()
        .find_map(|(word, kind)| database_type.contains(word).then_some(kind))
    }

    /// What is set unless the configuration says otherwise, in this order.
    pub fn usual(self, is_flat: bool) -> &'static [Field] {
        const CITY: &[Field] = &[
            CityName,
            ContinentCode,
            CountryName,
            CountryCode2,
            CountryCode3,
            Ip,
            PostalCode,
            DmaCode,
            RegionName,
            RegionCode,
            Timezone,
            Location,
            Latitude,
            Longitude,
        ];
        const CITY_ECS: &[Field] = &[
            CityName,
            ContinentCode,
            CountryName,
            CountryCode2,
            CountryCode3,
            Ip,
            PostalCode,
            DmaCode,
            RegionName,
            RegionIsoCode,
            Timezone,
            Location,
            Latitude,
            Longitude,
        ];
        match self {
            Self::City if is_flat => CITY,
            Self::City => CITY_ECS,
            Self::Country => &[Ip, CountryCode2, CountryName, ContinentName],
            Self::Asn => &[Ip, AutonomousSystemNumber, AutonomousSystemOrganization],
            Self::Isp => &[Ip, AutonomousSystemNumber, AutonomousSystemOrganization, Isp, Organization],
            Self::Domain => &[Domain],
            Self::AnonymousIp => {
                &[HostingProvider, TorExitNode, AnonymousVpn, Anonymous, PublicProxy, ResidentialProxy]
            }
            Self::Enterprise => {
                &[Ip, CountryCode2, CountryName, ContinentName, RegionIsoCode, RegionName, CityName, Location]
            }
        }
    }
}

/// What a part of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text,
    Integer,
    /// Absent means no.
    Flag,
}

/// Fields that are one part of a record, and the way to it.
pub(super) const PARTS: &[(Field, Part, &[PathElement<'static>])] = &[
    (CityName, Part::Text, &[Key("city"), Key("names"), Key("en")]),
    (ContinentCode, Part::Text, &[Key("continent"), Key("code")]),
    (ContinentName, Part::Text, &[Key("continent"), Key("names"), Key("en")]),
    (CountryName, Part::Text, &[Key("country"), Key("names"), Key("en")]),
    (CountryCode2, Part::Text, &[Key("country"), Key("iso_code")]),
    // Logstash has the two letters here as well.
    (CountryCode3, Part::Text, &[Key("country"), Key("iso_code")]),
    (PostalCode, Part::Text, &[Key("postal"), Key("code")]),
    (DmaCode, Part::Integer, &[Key("location"), Key("metro_code")]),
    (RegionName, Part::Text, &[Key("subdivisions"), IndexFromEnd(0), Key("names"), Key("en")]),
    (RegionCode, Part::Text, &[Key("subdivisions"), IndexFromEnd(0), Key("iso_code")]),
    (Timezone, Part::Text, &[Key("location"), Key("time_zone")]),
    (AutonomousSystemNumber, Part::Integer, &[Key("autonomous_system_number")]),
    (AutonomousSystemOrganization, Part::Text, &[Key("autonomous_system_organization")]),
    (Isp, Part::Text, &[Key("isp")]),
    (Organization, Part::Text, &[Key("organization")]),
    (Domain, Part::Text, &[Key("domain")]),
    (HostingProvider, Part::Flag, &[Key("is_hosting_provider")]),
    (TorExitNode, Part::Flag, &[Key("is_tor_exit_node")]),
    (AnonymousVpn, Part::Flag, &[Key("is_anonymous_vpn")]),
    (Anonymous, Part::Flag, &[Key("is_anonymous")]),
    (PublicProxy, Part::Flag, &[Key("is_public_proxy")]),
    (ResidentialProxy, Part::Flag, &[Key("is_residential_proxy")]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_names_is_in_order() {
        for (at, (field, option, ..)) in NAMES.iter().enumerate() {
            assert_eq!(field.index(), at, "{option}");
            assert_eq!(Field::named(&option.to_lowercase()), Some(*field));
        }
        assert_eq!(Field::named("CITY"), None);
    }
}
