//! IP addresses and networks in CIDR notation.

use std::net::{IpAddr, Ipv6Addr};

use outrigger_gostd::strconv::quote;

use super::{Function, Implementation, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::{Opaque, Value};

type Result<T> = std::result::Result<T, Error>;

fn ip_type() -> Type {
    Type::opaque("net.IP")
}

fn cidr_type() -> Type {
    Type::opaque("net.CIDR")
}

pub(super) fn functions() -> Vec<Function> {
    use Type::{Bool, Int, String};
    let (ip, cidr) = (ip_type, cidr_type);
    let predicate = |name, id, implementation: Implementation| {
        Function::new(name).member(id, [ip()], Bool, implementation)
    };
    vec![
        Function::new("ip")
            .global("string_to_ip", [String], ip(), to_ip)
            .member("cidr_ip", [cidr()], ip(), address_of),
        Function::new("family").member("ip_family", [ip()], Int, family),
        Function::new("ip.isCanonical").global("ip_is_canonical", [String], Bool, is_canonical),
        Function::new("isIP").global("is_ip", [String], Bool, is_ip),
        predicate("isUnspecified", "ip_is_unspecified", |_, args| {
            Ok(Value::Bool(address(args)?.is_unspecified()))
        }),
        predicate("isLoopback", "ip_is_loopback", |_, args| {
            Ok(Value::Bool(address(args)?.is_loopback()))
        }),
        predicate(
            "isLinkLocalMulticast",
            "ip_is_link_local_multicast",
            |_, args| {
                Ok(Value::Bool(match address(args)? {
                    IpAddr::V4(ip) => matches!(ip.octets(), [224, 0, 0, _]),
                    IpAddr::V6(ip) => {
                        matches!(ip.octets(), [0xff, second, ..] if second & 0xf == 2)
                    }
                }))
            },
        ),
        predicate(
            "isLinkLocalUnicast",
            "ip_is_link_local_unicast",
            |_, args| Ok(Value::Bool(is_link_local(address(args)?))),
        ),
        predicate("isGlobalUnicast", "ip_is_global_unicast", |_, args| {
            let ip = address(args)?;
            let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
            let is_special = ip.is_unspecified()
                || ip.is_loopback()
                || ip.is_multicast()
                || is_link_local(ip)
                || is_broadcast;
            Ok(Value::Bool(!is_special))
        }),
        Function::new("cidr").global("string_to_cidr", [String], cidr(), to_cidr),
        Function::new("isCIDR").global("is_cidr", [String], Bool, is_cidr),
        Function::new("containsIP")
            .member(
                "cidr_contains_ip_string",
                [cidr(), String],
                Bool,
                contains_ip,
            )
            .member("cidr_contains_ip_ip", [cidr(), ip()], Bool, contains_ip),
        Function::new("containsCIDR")
            .member(
                "cidr_contains_cidr_string",
                [cidr(), String],
                Bool,
                contains_cidr,
            )
            .member("cidr_contains_cidr", [cidr(), cidr()], Bool, contains_cidr),
        Function::new("prefixLength").member("cidr_prefix_length", [cidr()], Int, |_, args| {
            Ok(Value::Int(i64::from(network(args)?.1)))
        }),
        Function::new("masked").member("cidr_masked", [cidr()], cidr(), |_, args| {
            let (address, bits) = network(args)?;
            Ok(Value::Opaque(Opaque::Cidr(mask(address, bits), bits)))
        }),
        Function::new("string")
            .global("ip_to_string", [ip()], String, to_string)
            .global("cidr_to_string", [cidr()], String, to_string),
    ]
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

fn address(args: &[Value<'_>]) -> Result<IpAddr> {
    match args {
        [Value::Opaque(Opaque::Ip(ip)), ..] => Ok(*ip),
        _ => Err(Error::NoSuchOverload),
    }
}

fn network(args: &[Value<'_>]) -> Result<(IpAddr, u8)> {
    match args {
        [Value::Opaque(Opaque::Cidr(address, bits)), ..] => Ok((*address, *bits)),
        _ => Err(Error::NoSuchOverload),
    }
}

fn only<'a>(args: &'a [Value<'_>]) -> Result<&'a str> {
    text(args.first().ok_or(Error::NoSuchOverload)?)
}

fn parse_ip(text: &str) -> std::result::Result<IpAddr, String> {
    let shown = quote(text);
    let (bare, zone) = match text.split_once('%') {
        Some((bare, zone)) => (bare, Some(zone)),
        None => (text, None),
    };
    let parsed = bare.parse::<IpAddr>().ok();
    let parsed = parsed.filter(|ip| zone.is_none_or(|zone| ip.is_ipv6() && !zone.is_empty()));
    let Some(ip) = parsed else {
        let reason = parse_failure(text);
        return Err(format!(
            "IP Address {shown} parse error during conversion from string: ParseAddr({shown}): {reason}"
        ));
    };
    if zone.is_some() {
        return Err(format!("IP address {shown} with zone value is not allowed"));
    }
    if is_mapped(ip) {
        return Err(format!("IPv4-mapped IPv6 address {shown} is not allowed"));
    }
    Ok(ip)
}

/// Why a text is no address, as `netip.ParseAddr` says.
fn parse_failure(text: &str) -> &'static str {
    let is_v4 = text.contains('.') && !text.contains(':');
    if !is_v4 {
        return "unable to parse IP";
    }
    let fields: Vec<_> = text.split('.').collect();
    for field in &fields {
        if field.is_empty() {
            return "IPv4 field must have at least one digit";
        }
        if field.len() > 1 && field.starts_with('0') {
            return "IPv4 field has octet with leading zero";
        }
        if field.chars().all(|c| c.is_ascii_digit()) && field.parse::<u8>().is_err() {
            return "IPv4 field has value >255";
        }
    }
    match fields.len() {
        0..4 => "IPv4 address too short",
        4 => "unexpected character",
        _ => "IPv4 address too long",
    }
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

fn parse_cidr(text: &str) -> std::result::Result<(IpAddr, u8), String> {
    let shown = quote(text);
    let failed = |reason: String| {
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({shown}): {reason}"
        )
    };
    let Some((address, bits)) = text.rsplit_once('/') else {
        return Err(failed("no '/'".to_owned()));
    };
    if address.contains('%') {
        return Err(failed(
            "IPv6 zones cannot be present in a prefix".to_owned(),
        ));
    }
    let Ok(ip) = address.parse::<IpAddr>() else {
        let address = quote(address);
        return Err(failed(format!("ParseAddr({address}): unable to parse IP")));
    };
    let is_plain =
        bits.chars().all(|c| c.is_ascii_digit()) && (bits.len() == 1 || !bits.starts_with('0'));
    let length = bits.parse::<u8>().ok().filter(|_| is_plain);
    let Some(length) = length.filter(|length| *length <= family_bits(ip)) else {
        let reason = if is_plain && !bits.is_empty() {
            "prefix length out of range"
        } else {
            return Err(failed(format!("bad bits after slash: {}", quote(bits))));
        };
        return Err(failed(reason.to_owned()));
    };
    if is_mapped(ip) {
        return Err(format!("IPv4-mapped IPv6 address {shown} is not allowed"));
    }
    Ok((ip, length))
}

fn family_bits(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

/// The address as a number, left-aligned.
fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(ip.to_bits()).wrapping_shl(96),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

fn masked_number(ip: IpAddr, bits: u8) -> u128 {
    let mask = u128::MAX
        .checked_shr(u32::from(bits))
        .map_or(u128::MAX, |rest| !rest);
    number(ip) & mask
}

fn mask(ip: IpAddr, bits: u8) -> IpAddr {
    let masked = masked_number(ip, bits);
    match ip {
        IpAddr::V4(_) => {
            let bits = u32::try_from(masked.wrapping_shr(96)).unwrap_or(0);
            IpAddr::V4(bits.into())
        }
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(masked)),
    }
}

fn to_ip<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let ip = parse_ip(only(args)?).map_err(Error::function)?;
    Ok(Value::Opaque(Opaque::Ip(ip)))
}

fn is_ip<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    Ok(Value::Bool(parse_ip(only(args)?).is_ok()))
}

fn is_canonical<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let text = only(args)?;
    let ip = parse_ip(text).map_err(Error::function)?;
    Ok(Value::Bool(ip.to_string() == text))
}

fn family<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    Ok(Value::Int(if address(args)?.is_ipv4() { 4 } else { 6 }))
}

fn cidr_error(error: &str) -> Error {
    Error::function(format!(
        "network address parse error during conversion from string: {error}"
    ))
}

fn to_cidr<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (ip, bits) = parse_cidr(only(args)?).map_err(|error| cidr_error(&error))?;
    Ok(Value::Opaque(Opaque::Cidr(ip, bits)))
}

fn is_cidr<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    Ok(Value::Bool(parse_cidr(only(args)?).is_ok()))
}

fn address_of<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    Ok(Value::Opaque(Opaque::Ip(network(args)?.0)))
}

fn contains_ip<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (base, bits) = network(args)?;
    let ip = match args.get(1) {
        Some(Value::Opaque(Opaque::Ip(ip))) => *ip,
        Some(Value::String(text)) => parse_ip(text.as_str()).map_err(Error::function)?,
        _ => return Err(Error::NoSuchOverload),
    };
    let is_inside =
        base.is_ipv4() == ip.is_ipv4() && masked_number(base, bits) == masked_number(ip, bits);
    Ok(Value::Bool(is_inside))
}

fn contains_cidr<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (base, bits) = network(args)?;
    let (other, other_bits) = match args.get(1) {
        Some(Value::Opaque(Opaque::Cidr(address, bits))) => (*address, *bits),
        Some(Value::String(text)) => {
            parse_cidr(text.as_str()).map_err(|error| cidr_error(&error))?
        }
        _ => return Err(Error::NoSuchOverload),
    };
    let is_inside = base.is_ipv4() == other.is_ipv4()
        && bits <= other_bits
        && masked_number(base, bits) == masked_number(other, bits);
    Ok(Value::Bool(is_inside))
}

fn to_string<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match args {
        [Value::Opaque(value @ (Opaque::Ip(_) | Opaque::Cidr(..)))] => {
            Ok(Value::string(value.to_string()))
        }
        _ => Err(Error::NoSuchOverload),
    }
}
