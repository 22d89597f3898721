//! Ranges of IP addresses as Ruby's `IPAddr` reads them, and fast answers to "is this in any of them?".

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All addresses that begin with the same bits; one address alone has all of them fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    family: Family,
    first: u128,
    last: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl Family {
    fn bits(self) -> u32 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }
}

impl Network {
    /// `192.0.2.7`, `192.0.2.0/24`, `192.0.2.0/255.255.255.0`, `fe80::1%eth0`, `[::1]`. Host bits are cleared.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, mask) = match text.split_once('/') {
            Some((address, mask)) => (address, Some(mask)),
            None => (text, None),
        };
        let (family, address) = address_bits(address)?;
        let prefix = match mask {
            None => family.bits(),
            Some(mask) => prefix_length(mask, family)?,
        };
        Self::new(family, address, prefix)
    }

    fn new(family: Family, address: u128, prefix: u32) -> Option<Self> {
        let host_bits = family.bits().checked_sub(prefix)?;
        let hosts = 1_u128.checked_shl(host_bits).map_or(u128::MAX, |above| above - 1);
        Some(Self { family, first: address & !hosts, last: address | hosts })
    }

    /// The network of that prefix length around the first address.
    pub fn masked(self, prefix: u32) -> Option<Self> {
        Self::new(self.family, self.first, prefix)
    }

    /// The first address.
    pub fn first(self) -> IpAddr {
        match self.family {
            Family::V4 => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(self.first).unwrap_or_default())),
            Family::V6 => IpAddr::V6(Ipv6Addr::from_bits(self.first)),
        }
    }
}

fn address_bits(text: &str) -> Option<(Family, u128)> {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inner = bracketed.unwrap_or(text);
    if bracketed.is_none()
        && let Ok(address) = inner.parse::<Ipv4Addr>()
    {
        return Some((Family::V4, u128::from(address.to_bits())));
    }
    let address = match inner.split_once('%') {
        Some((address, zone)) if is_zone(zone) => address,
        Some(_) => return None,
        None => inner,
    };
    Some((Family::V6, address.parse::<Ipv6Addr>().ok()?.to_bits()))
}

fn is_zone(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A number without leading zeros, or an address whose one bits all stand before its zero bits.
fn prefix_length(mask: &str, family: Family) -> Option<u32> {
    if mask.bytes().all(|b| b.is_ascii_digit()) {
        let is_number = mask == "0" || !mask.starts_with('0');
        return mask.parse().ok().filter(|prefix| is_number && *prefix <= family.bits());
    }
    let (mask_family, bits) = address_bits(mask)?;
    let aligned = bits << (128 - family.bits());
    (mask_family == family && aligned.leading_ones() == aligned.count_ones()).then(|| aligned.leading_ones())
}

/// Networks to look addresses up in. Two networks are disjoint, or one is inside the other; the inner one is dropped,
/// so that one binary search answers.
#[derive(Clone, Debug, Default)]
pub(super) struct NetworkSet {
    v4: Vec<(u128, u128)>,
    v6: Vec<(u128, u128)>,
}

impl NetworkSet {
    /// Whether all of `network` is in one of the set. Families never meet.
    pub fn contains(&self, network: Network) -> bool {
        let ranges = match network.family {
            Family::V4 => &self.v4,
            Family::V6 => &self.v6,
        };
        let behind = ranges.partition_point(|(first, _)| *first <= network.first);
        behind.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, last)| network.last <= *last)
    }
}

impl FromIterator<Network> for NetworkSet {
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        let mut set = Self::default();
        for network in networks {
            match network.family {
                Family::V4 => set.v4.push((network.first, network.last)),
                Family::V6 => set.v6.push((network.first, network.last)),
            }
        }
        for ranges in [&mut set.v4, &mut set.v6] {
            // Of two that start together the wider one first.
            ranges.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
            ranges.dedup_by(|inner, outer| inner.1 <= outer.1);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<String> {
        Network::parse(text).map(|network| network.first().to_string())
    }

    #[test]
    fn what_is_an_address_or_a_network() {
        for (text, expected) in [
            ("192.0.2.7", "192.0.2.7"),
            ("192.0.2.7/24", "192.0.2.0"),
            ("192.0.2.7/255.255.255.0", "192.0.2.0"),
            ("0.0.0.0/0", "0.0.0.0"),
            ("fe80::1%eth0", "fe80::1"),
            ("fe80::1%eth0/64", "fe80::"),
            ("[2001:db8::1]/32", "2001:db8::"),
            ("2001:db8::1/ffff::", "2001::"),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
            ("::/0", "::"),
        ] {
            assert_eq!(first(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            " 192.0.2.1",
            "192.0.2.1 ",
            "192.0.2",
            "192.0.2.01",
            "192.0.2.300",
            "192.0.2.0/33",
            "192.0.2.0/024",
            "192.0.2.0/",
            "192.0.2.0/255.0.255.0",
            "192.0.2.0/ffff::",
            "[192.0.2.1]",
            "fe80::1%",
            "host",
            "%{ip}",
            "::1/129",
            "1.2.3.4%eth0",
        ] {
            assert_eq!(first(text), None, "{text}");
        }
    }

    #[test]
    fn a_set_answers_as_each_network_alone_does() {
        let networks = ["10.0.0.0/8", "10.1.0.0/16", "192.0.2.0/25", "192.0.2.128/25", "2001:db8::/32", "0.0.0.1"];
        let networks = networks.map(|text| Network::parse(text).unwrap());
        let set: NetworkSet = networks.into_iter().collect();
        for text in [
            "10.1.2.3",
            "10.255.0.0",
            "11.0.0.0",
            "9.255.255.255",
            "192.0.2.0/24",
            "192.0.2.0/25",
            "192.0.2.200",
            "10.0.0.0/7",
            "2001:db8::1",
            "2001:db9::",
            "::",
            "::ffff:10.0.0.1",
            "0.0.0.1",
            "0.0.0.0",
            "255.255.255.255",
        ] {
            let address = Network::parse(text).unwrap();
            let alone = networks.iter().any(|network| {
                network.family == address.family && network.first <= address.first && address.last <= network.last
            });
            assert_eq!(set.contains(address), alone, "{text}");
        }
    }
}
