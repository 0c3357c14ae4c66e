//! The members of etcd, and whether one of them can be removed.

/// A member, as `etcdctl member list` and `etcdctl endpoint health` show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) id: String,
    /// The address of the machine.
    pub(super) address: String,
    pub(super) is_healthy: bool,
}

/// Parses what `etcd_members.sh` prints.
pub(super) fn parse(text: &str) -> Vec<Member> {
    let healthy: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once(" is healthy").map(|(url, _)| host(url)))
        .collect();
    text.lines()
        .filter_map(|line| {
            // Id, state, name, peer URL, client URL, whether it is a learner. One that did not start has no name.
            let fields: Vec<&str> = line.split(", ").collect();
            let [id, state, _, peer, ..] = fields[..] else {
                return None;
            };
            let address = host(peer);
            Some(Member {
                id: id.to_owned(),
                address: address.to_owned(),
                is_healthy: state == "started" && healthy.contains(&address),
            })
        })
        .collect()
}

/// `10.0.0.9` of `https://10.0.0.9:2380`.
fn host(url: &str) -> &str {
    let authority = url.rsplit('/').next().unwrap_or(url);
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host);
    host.trim_matches(['[', ']'])
}

/// The id of the member on a machine that can be removed; nothing if there is none. Refused if the others have no quorum.
pub(super) fn removal(members: &[Member], address: &str) -> Result<Option<String>, String> {
    let Some(member) = members.iter().find(|member| member.address == address) else {
        return Ok(None);
    };
    let others = members.iter().filter(|other| other.id != member.id);
    let (healthy, broken): (Vec<&Member>, Vec<&Member>) =
        others.partition(|other| other.is_healthy);
    let count = healthy.len() + broken.len();
    if count == 0 {
        return Err(format!("{address} has the last member of etcd"));
    }
    if healthy.len() > count / 2 {
        return Ok(Some(member.id.clone()));
    }
    let broken: Vec<&str> = broken.iter().map(|other| &*other.address).collect();
    Err(format!(
        "etcd would lose its quorum: without {address}, {} of {count} members are healthy; repair {} first",
        healthy.len(),
        broken.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: &str = "\
8211f1d0f64f3269, started, cp1, https://10.89.0.10:2380, https://10.89.0.10:2379, false
91bc3c398fb3c146, started, cp2, https://10.89.0.11:2380, https://10.89.0.11:2379, false
fd422379fda50e48, unstarted, , https://10.89.0.12:2380, , false
https://10.89.0.10:2379 is healthy: successfully committed proposal: took = 11.4ms
https://10.89.0.11:2379 is unhealthy: failed to commit proposal: context deadline exceeded
Error: unhealthy cluster
";

    fn members(healthy: &[bool]) -> Vec<Member> {
        let members = healthy.iter().enumerate();
        members
            .map(|(index, is_healthy)| Member {
                id: format!("id{index}"),
                address: format!("10.0.0.{index}"),
                is_healthy: *is_healthy,
            })
            .collect()
    }

    #[test]
    fn members_and_their_health_are_parsed() {
        let members = parse(MEMBERS);
        let found: Vec<(&str, bool)> = members
            .iter()
            .map(|member| (&*member.address, member.is_healthy))
            .collect();
        let expected = [
            ("10.89.0.10", true),
            ("10.89.0.11", false),
            ("10.89.0.12", false),
        ];
        assert_eq!(found, expected);
        assert_eq!(members[0].id, "8211f1d0f64f3269");
        assert_eq!(host("https://[fd00::1]:2380"), "fd00::1");
    }

    #[test]
    fn a_member_is_removed_if_the_others_have_a_quorum() {
        let id = |index: usize| Ok(Some(format!("id{index}")));
        assert_eq!(removal(&members(&[true, true, true]), "10.0.0.2"), id(2));
        assert_eq!(removal(&members(&[true, true, false]), "10.0.0.2"), id(2));
        assert_eq!(removal(&members(&[true, true]), "10.0.0.1"), id(1));
        assert_eq!(removal(&members(&[true]), "10.0.0.7"), Ok(None));
    }

    #[test]
    fn a_removal_that_would_lose_the_quorum_is_refused() {
        let refused = removal(&members(&[true, true, false]), "10.0.0.1");
        let expected = "etcd would lose its quorum: without 10.0.0.1, 1 of 2 members are healthy; repair 10.0.0.2 first";
        assert_eq!(refused, Err(expected.to_owned()));
        assert!(removal(&members(&[true]), "10.0.0.0").is_err());
    }
}
