//! Which connections are closed and refused.

use futures::FutureExt as _;

use super::*;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

fn connections() -> Arc<Connections> {
    Arc::new(Connections::new(Limits {
        total: 8,
        unauthenticated: 2,
        per_address: 6,
    }))
}

fn must_close(connection: &OpenConnection) -> bool {
    connection.0.must_close().now_or_never().is_some()
}

fn authenticated(connections: &Arc<Connections>, address: IpAddr) -> OpenConnection {
    let connection = connections.open(address).unwrap();
    connection.0.set_authenticated();
    connection
}

#[tokio::test]
async fn a_new_connection_replaces_the_oldest_silent_one() {
    let connections = connections();
    let client = authenticated(&connections, HERE);
    let silent = [HERE; 3].map(|address| connections.open(address).unwrap());
    let closed: Vec<bool> = silent.iter().map(must_close).collect();
    assert_eq!(closed, [true, false, false]);
    assert!(!must_close(&client));
}

#[tokio::test]
async fn an_idle_connection_makes_room_but_a_busy_one_does_not() {
    let connections = connections();
    let busy: Vec<_> = (0..5).map(|_| authenticated(&connections, HERE)).collect();
    let requests: Vec<_> = busy.iter().map(|busy| busy.0.begin_request()).collect();
    let idle = authenticated(&connections, HERE);
    let new = authenticated(&connections, HERE);
    assert!(must_close(&idle));
    let request = new.0.begin_request();
    assert!(
        connections.open(HERE).is_none(),
        "the address has no idle connections"
    );
    let others = [THERE; 2].map(|address| authenticated(&connections, address));
    let others = others.each_ref().map(|other| other.0.begin_request());
    assert!(
        connections.open(THERE).is_none(),
        "there are no idle connections"
    );
    drop((request, requests, others));
    assert!(connections.open(THERE).is_some());
}

#[tokio::test]
async fn a_connection_that_ends_is_not_counted() {
    let connections = connections();
    for _ in 0..100 {
        drop(authenticated(&connections, HERE));
        drop(connections.open(THERE));
    }
    let open = connections.lock();
    assert!(open.all.is_empty() && open.unauthenticated.is_empty() && open.by_address.is_empty());
}

#[test]
fn limits_follow_from_the_open_files() {
    let limits = Limits::for_files(1024);
    assert_eq!((limits.total, limits.unauthenticated), (960, 240));
    assert_eq!(Limits::for_files(u64::MAX).total, 20_000);
    assert!(Limits::for_files(0).unauthenticated > 0);
}
