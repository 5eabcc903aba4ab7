//! The user and the process at the other end of a connection within this machine, as far as the system tells.
//!
//! The system is asked about the two ends of one connection, because reading the table of all connections takes
//! milliseconds on a busy machine.

use std::net::{IpAddr, SocketAddr};

use mgp_transport::http::ConnectionAddrs;

use super::{Lineage, has_open, lineage_of};

/// The system's answer to the question whose connection it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerUser {
    Known(SocketHolder),
    /// The system reports the users of connections, but not of this one: nobody holds its other end any more.
    Unknown,
    /// The system does not report the users of connections.
    Unavailable,
}

/// The user who holds a socket, and the number of the socket in the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SocketHolder {
    pub(crate) user: u32,
    inode: u32,
}

impl SocketHolder {
    /// Returns the oldest process that has the socket open, with its ancestors; `None` if the system does not show it. Looks
    /// through the open files of all processes that this one may see.
    pub(crate) fn lineage(self) -> Option<Lineage> {
        let socket = format!("socket:[{}]", self.inode);
        let processes = std::fs::read_dir("/proc").ok()?.flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let holders = numbers.filter(|pid| has_open(pid, &socket)).filter_map(lineage_of);
        // A process that was just forked has the files of its parent open, until it runs another program.
        holders.min_by_key(|lineage| lineage.process().id.started)
    }
}

/// Asks the system for the user of the peer's end: for this one connection, or, where that is refused, for the table of
/// all.
pub(crate) async fn peer_user(ends: ConnectionAddrs) -> PeerUser {
    #[cfg(target_os = "linux")]
    match sock_diag::user(ends) {
        Ok(user) => return user.map_or(PeerUser::Unknown, PeerUser::Known),
        Err(error) => tracing::debug!(%error, "the system does not tell of a single connection"),
    }
    // The table has a line for each socket of the machine.
    tokio::task::spawn_blocking(move || by_tables(ends)).await.unwrap_or(PeerUser::Unknown)
}

/// The question about one connection (`NETLINK_SOCK_DIAG`). The system answers while the question is sent.
#[cfg(target_os = "linux")]
mod sock_diag {
    use std::net::IpAddr;

    use mgp_transport::http::ConnectionAddrs;
    use rustix::io::Errno;
    use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
    };

    use super::{SocketHolder, plain};

    /// Returns the user who holds the peer's end, or `None` if nobody does.
    pub(super) fn user(ends: ConnectionAddrs) -> Result<Option<SocketHolder>, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
        sendto(&socket, &question(ends), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = [0; LONGEST_ANSWER];
        let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
        answered(&answer[..length])
    }

    /// Returns a `nlmsghdr` with an `inet_diag_req_v2` that names both ends.
    fn question(ends: ConnectionAddrs) -> [u8; QUESTION as usize] {
        let ((peer, peer_port), (own, own_port)) = (plain(ends.peer), plain(ends.own));
        let family = if peer.is_ipv4() { INET } else { INET6 };
        let mut message = [0; QUESTION as usize];
        let mut put = |at: usize, bytes: &[u8]| message[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &QUESTION.to_ne_bytes());
        put(4, &BY_FAMILY.to_ne_bytes());
        put(6, &REQUEST.to_ne_bytes());
        put(HEADER, &[family, TCP]);
        put(HEADER + 4, &ANY_STATE.to_ne_bytes());
        put(HEADER + 8, &peer_port.to_be_bytes());
        put(HEADER + 10, &own_port.to_be_bytes());
        for (at, address) in [(HEADER + 12, peer), (HEADER + 28, own)] {
            match address {
                IpAddr::V4(address) => put(at, &address.octets()),
                IpAddr::V6(address) => put(at, &address.octets()),
            }
        }
        put(HEADER + 48, &NO_COOKIE);
        message
    }

    /// Reads a `nlmsghdr` with an `inet_diag_msg`, or with the number of an error.
    fn answered(message: &[u8]) -> Result<Option<SocketHolder>, Errno> {
        let word = |at: usize| {
            let bytes = message.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map(u32::from_ne_bytes).ok_or(Errno::BADMSG)
        };
        let kind = message.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
        if kind != Some(BY_FAMILY) {
            let number = word(HEADER)?.cast_signed().checked_neg();
            return Err(number.map_or(Errno::BADMSG, Errno::from_raw_os_error));
        }
        let (user, inode, state) = (word(HEADER + 64)?, word(HEADER + 68)?, message[HEADER + 1]);
        // Where no connection has these ends, the system answers with the socket that listens at the peer's.
        Ok((state != LISTENS && inode != 0).then_some(SocketHolder { user, inode }))
    }

    /// The length in bytes of a `nlmsghdr`.
    const HEADER: usize = 16;
    /// The length in bytes of a `nlmsghdr` with an `inet_diag_req_v2`.
    const QUESTION: u32 = 72;
    const BY_FAMILY: u16 = 20;
    const INET: u8 = 2;
    const INET6: u8 = 10;
    const REQUEST: u16 = 1;
    const TCP: u8 = 6;
    const ANY_STATE: u32 = u32::MAX;
    const NO_COOKIE: [u8; 8] = [0xff; 8];
    const LISTENS: u8 = 10;
    /// The number of bytes that are read of an answer, of which only the start counts.
    const LONGEST_ANSWER: usize = 512;
}

fn by_tables(ends: ConnectionAddrs) -> PeerUser {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).ok());
    if tables.iter().all(Option::is_none) {
        return PeerUser::Unavailable;
    }
    tables.iter().flatten().find_map(|table| user(table, ends)).map_or(PeerUser::Unknown, PeerUser::Known)
}

/// Returns the user of the peer's end, by a table of the system's TCP connections.
///
/// Only a connection whose socket somebody holds has a user: for others the table says 0, which is root's number.
fn user(table: &str, ends: ConnectionAddrs) -> Option<SocketHolder> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let [_, local, remote, _, _, _, _, user, _, inode, ..] = *fields.as_slice() else { return None };
        let is_it = address(local)? == plain(ends.peer) && address(remote)? == plain(ends.own);
        let holder = || Some(SocketHolder { user: user.parse().ok()?, inode: inode.parse().ok()? });
        (is_it && inode != "0").then(holder)?
    })
}

/// Returns the address and the port; an IPv6 address that maps one of IPv4 becomes that of IPv4.
fn plain(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// Reads an address of the table: words of 32 bits as this machine holds them, and the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let (words, rest) = address.as_bytes().as_chunks::<8>();
    if !rest.is_empty() {
        return None;
    }
    let word = |word: &[u8; 8]| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok();
    let words: Vec<[u8; 4]> =
        words.iter().map(|text| word(text).map(u32::to_ne_bytes)).collect::<Option<_>>()?;
    let bytes = words.as_flattened();
    let ip = match <[u8; 16]>::try_from(bytes) {
        Ok(all) => IpAddr::from(all).to_canonical(),
        Err(_) => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn ends(peer: &str, own: &str) -> ConnectionAddrs {
        ConnectionAddrs { peer: peer.parse().unwrap(), own: own.parse().unwrap() }
    }

    fn table(local: &str, remote: &str, state: &str, user: u32, inode: u32) -> String {
        format!(
            "{HEAD}   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 {user} 0 {inode} 1 0\n"
        )
    }

    /// Both ways to ask agree, or the system refuses the first one.
    #[cfg(target_os = "linux")]
    #[test]
    fn both_ways_tell_whose_a_connection_is_until_its_end_is_closed() {
        let own = rustix::process::geteuid().as_raw();
        for (listens, connects) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1")]
        {
            // A machine may have no IPv6.
            let Ok(listener) = std::net::TcpListener::bind(listens) else { continue };
            let client = std::net::TcpStream::connect((connects, listener.local_addr().unwrap().port()));
            let client = client.unwrap();
            let (server, peer) = listener.accept().unwrap();
            let ends = ConnectionAddrs { peer, own: server.local_addr().unwrap() };
            let asked = || sock_diag::user(ends);
            assert!(matches!(asked(), Ok(Some(it)) if it.user == own) || asked().is_err(), "{listens}");
            let PeerUser::Known(holder) = by_tables(ends) else { panic!("{listens}") };
            assert_eq!(holder.user, own, "{listens}");
            // A client may end its own side, and wait for the answer.
            let own_process = holder.lineage().expect("the system shows this process");
            assert_eq!(own_process.process().id.pid, std::process::id(), "{listens}");
            client.shutdown(std::net::Shutdown::Write).unwrap();
            let PeerUser::Known(holder) = by_tables(ends) else { panic!("{listens}") };
            assert_eq!(holder.user, own, "{listens}");
            assert!(matches!(asked(), Ok(Some(it)) if it.user == own) || asked().is_err(), "{listens}");
            drop(client);
            // A program that another thread is just starting has the connection, too, until it runs.
            let begun = tokio::time::Instant::now();
            while by_tables(ends) != PeerUser::Unknown {
                assert!(begun.elapsed().as_secs() < 60, "{listens} has a user still");
                std::thread::yield_now();
            }
            assert!(!matches!(asked(), Ok(Some(_))), "{listens}");
        }
    }

    /// The peer's address is that of a socket that listens, and no connection has these ends.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_that_listens_at_the_peers_address_is_not_the_peer() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let ends =
            ConnectionAddrs { peer: listener.local_addr().unwrap(), ..ends("127.0.0.1:1", "127.0.0.1:1") };
        assert!(!matches!(sock_diag::user(ends), Ok(Some(_))));
        assert_eq!(by_tables(ends), PeerUser::Unknown);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_connection_has_the_user_of_the_end_that_connected() {
        let table = table("0100007F:D431", "0100007F:1CA4", "01", 1000, 7);
        let known = Some(SocketHolder { user: 1000, inode: 7 });
        assert_eq!(user(&table, ends("127.0.0.1:54321", "127.0.0.1:7332")), known);
        assert_eq!(user(&table, ends("[::ffff:127.0.0.1]:54321", "127.0.0.1:7332")), known);
        // The other end, and other connections.
        assert_eq!(user(&table, ends("127.0.0.1:7332", "127.0.0.1:54321")), None);
        assert_eq!(user(&table, ends("127.0.0.1:54322", "127.0.0.1:7332")), None);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn addresses_of_both_families_are_read() {
        let six = "00000000000000000000000001000000";
        let table6 = table(&format!("{six}:D431"), &format!("{six}:1CA4"), "01", 33, 7);
        assert_eq!(user(&table6, ends("[::1]:54321", "[::1]:7332")).unwrap().user, 33);
        let mapped = "0000000000000000FFFF00000100007F";
        let mapped = table(&format!("{mapped}:D431"), &format!("{mapped}:1CA4"), "01", 34, 7);
        assert_eq!(user(&mapped, ends("127.0.0.1:54321", "127.0.0.1:7332")).unwrap().user, 34);
        for torn in ["", "01", "0100007F", "0100007F:", "0100:1", "zz00007F:1"] {
            assert_eq!(address(torn), None, "{torn}");
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_connection_that_nobody_holds_any_more_is_not_roots() {
        let ends = ends("127.0.0.1:54321", "127.0.0.1:7332");
        for state in ["01", "04", "05", "06"] {
            assert_eq!(user(&table("0100007F:D431", "0100007F:1CA4", state, 0, 0), ends), None, "{state}");
        }
    }
}
