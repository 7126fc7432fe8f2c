//! The filters of addresses that Kubespray's variables use.

use std::net::IpAddr;

use ipnet::IpNet;
use minijinja::{Error, ErrorKind, Value};

use super::filters::refused;

/// An address, with its network if the text has one.
struct Address {
    ip: IpAddr,
    net: Option<IpNet>,
}

fn parse(text: &str) -> Option<Address> {
    let text = text.trim();
    match text.split_once('/') {
        None => Some(Address { ip: text.parse().ok()?, net: None }),
        Some((ip, prefix)) => {
            let ip: IpAddr = ip.parse().ok()?;
            Some(Address { ip, net: Some(IpNet::new(ip, prefix.parse().ok()?).ok()?) })
        }
    }
}

/// What a query gives for one text; `false` where it gives nothing, as in Ansible.
fn answer(text: &str, query: &Value) -> Result<Value, Error> {
    let nothing = Value::from(false);
    let Some(address) = parse(text) else { return Ok(nothing) };
    if let Some(index) = query.as_i64() {
        return Ok(address.net.and_then(|net| nth(net, index)).map_or(nothing, Value::from));
    }
    let of_net = |value: fn(&IpNet) -> Value| address.net.as_ref().map_or(Value::from(false), value);
    match query.as_str().unwrap_or_default() {
        "" => Ok(Value::from(text)),
        "address" | "ip" => Ok(Value::from(address.ip.to_string())),
        "network" => Ok(of_net(|net| Value::from(net.network().to_string()))),
        "broadcast" => Ok(of_net(|net| Value::from(net.broadcast().to_string()))),
        "netmask" => Ok(of_net(|net| Value::from(net.netmask().to_string()))),
        "prefix" => Ok(of_net(|net| Value::from(net.prefix_len()))),
        "network/prefix" | "subnet" => Ok(of_net(|net| Value::from(net.trunc().to_string()))),
        "net" => Ok(address.net.filter(|net| *net == net.trunc()).map_or(nothing, |net| Value::from(net.to_string()))),
        "version" => Ok(Value::from(if address.ip.is_ipv4() { 4 } else { 6 })),
        "ipv4" => Ok(if address.ip.is_ipv4() { Value::from(text) } else { nothing }),
        "ipv6" => Ok(if address.ip.is_ipv6() { Value::from(text) } else { nothing }),
        other => Err(refused(format!("`ipaddr` is not known with {} here", crate::words::quote(other)))),
    }
}

/// The address at a place in a network, with its prefix; negative places count from the end.
fn nth(net: IpNet, index: i64) -> Option<String> {
    let bits = if net.addr().is_ipv4() { 32 } else { 128 };
    let host_bits = bits - u32::from(net.prefix_len());
    let last = u128::MAX.checked_shr(128 - host_bits).unwrap_or(0);
    let offset = if index < 0 { last.checked_sub(u128::from(index.unsigned_abs() - 1))? } else { u128::try_from(index).ok()? };
    if offset > last {
        return None;
    }
    let ip: IpAddr = match net.network() {
        IpAddr::V4(ip) => IpAddr::V4((u32::from(ip) + u32::try_from(offset).ok()?).into()),
        IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) + offset).into()),
    };
    Some(format!("{ip}/{}", net.prefix_len()))
}

/// Applies a query to a text, or to each text of a list; what it gives nothing for is left out of a list.
fn each(value: &Value, query: &Value) -> Result<Value, Error> {
    if value.is_undefined() {
        return Err(ErrorKind::UndefinedError.into());
    }
    if let Some(text) = value.as_str() {
        return answer(text, query);
    }
    if value.as_object().is_none() {
        return Ok(Value::from(false));
    }
    let mut found = Vec::new();
    for item in value.try_iter()? {
        let item = answer(item.as_str().unwrap_or_default(), query)?;
        if item.is_true() {
            found.push(item);
        }
    }
    Ok(Value::from(found))
}

pub(super) fn ipaddr(value: &Value, query: Option<Value>) -> Result<Value, Error> {
    each(value, &query.unwrap_or_else(|| Value::from("")))
}

pub(super) fn ipv4(value: &Value) -> Result<Value, Error> {
    each(value, &Value::from("ipv4"))
}

pub(super) fn ipv6(value: &Value) -> Result<Value, Error> {
    each(value, &Value::from("ipv6"))
}

/// An IPv6 address in the brackets that it needs before a port; anything else as it is.
pub(super) fn ipwrap(value: &Value) -> Result<Value, Error> {
    if value.is_undefined() {
        return Err(ErrorKind::UndefinedError.into());
    }
    let Some(text) = value.as_str() else { return Ok(value.clone()) };
    Ok(match parse(text) {
        Some(Address { ip: IpAddr::V6(ip), net: None }) => Value::from(format!("[{ip}]")),
        Some(Address { ip: IpAddr::V6(ip), net: Some(net) }) => Value::from(format!("[{ip}]/{}", net.prefix_len())),
        _ => Value::from(text),
    })
}
