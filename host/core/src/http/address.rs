//! Decides which addresses belong to the public internet.
//!
//! All others (this machine, its network, cloud metadata services) require an explicit rule in presets.toml. Source:
//! the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890 and its updates).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks outside the public internet: address and prefix length.
const RESERVED_V4: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),       // this network
    ([10, 0, 0, 0], 8),      // private
    ([100, 64, 0, 0], 10),   // shared by carriers (CGNAT)
    ([127, 0, 0, 0], 8),     // loopback
    ([169, 254, 0, 0], 16),  // link-local, cloud metadata
    ([172, 16, 0, 0], 12),   // private
    ([192, 0, 0, 0], 24),    // protocol assignments
    ([192, 0, 2, 0], 24),    // documentation
    ([192, 88, 99, 0], 24),  // 6to4 relays, withdrawn
    ([192, 168, 0, 0], 16),  // private
    ([198, 18, 0, 0], 15),   // benchmarks
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([224, 0, 0, 0], 4),     // multicast
    ([240, 0, 0, 0], 4),     // reserved
    ([255, 255, 255, 255], 32),
];

/// IPv6 blocks inside 2000::/3 but outside the public internet.
const RESERVED_V6: [([u16; 2], u32); 3] = [
    ([0x2001, 0x0000], 23), // protocol assignments: Teredo, benchmarks, ORCHID
    ([0x2001, 0x0db8], 32), // documentation
    ([0x3fff, 0x0000], 20), // documentation
];

/// Returns true if the address, or the IPv4 address embedded in it, is on the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !RESERVED_V4.iter().any(|(block, length)| {
        let shift = 32 - length;
        bits >> shift == u32::from_be_bytes(*block) >> shift
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(join(high, low)));
    match parts {
        // Mapped, ::ffff:0:0/96.
        [0, 0, 0, 0, 0, 0xffff, high, low] => embedded(high, low),
        // NAT64, 64:ff9b::/96: IPv4 addresses for networks that only have IPv6.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4, 2002::/16.
        [0x2002, high, low, ..] => embedded(high, low),
        // Only 2000::/3 is allocated. Loopback, local, multicast and IPv4-compatible addresses are outside it.
        [first, second, ..] if first >> 13 == 1 => !RESERVED_V6.iter().any(|([high, low], length)| {
            let shift = 32 - length;
            join(first, second) >> shift == join(*high, *low) >> shift
        }),
        _ => false,
    }
}

fn join(high: u16, low: u16) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().expect("an address"))
    }

    #[test]
    fn the_public_internet_is_public() {
        for address in ["1.1.1.1", "93.184.216.34", "172.15.255.255", "172.32.0.0", "100.63.255.255"] {
            assert!(public(address), "{address}");
        }
        for address in ["2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1", "64:ff9b::101:101"] {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        let v4 = "0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.0.9 169.254.169.254 172.16.0.1 \
            172.31.255.255 192.0.0.1 192.0.2.1 192.168.1.1 198.19.0.1 198.51.100.9 203.0.113.9 \
            224.0.0.1 240.0.0.1 255.255.255.255";
        for address in v4.split(' ') {
            assert!(!public(address), "{address}");
            for form in ["::ffff:", "64:ff9b::", "::"] {
                assert!(!public(&format!("{form}{address}")), "{form}{address}");
            }
        }
        let v6 = ":: ::1 fe80::1 fc00::1 fd12::1 fec0::1 ff02::1 2001:db8::1 3fff::1 2001::1 2001:2::1 \
            2002:7f00:1:: 2002:a9fe:a9fe::1 64:ff9b:1::1 100::1 5f00::1";
        for address in v6.split(' ') {
            assert!(!public(address), "{address}");
        }
    }
}
