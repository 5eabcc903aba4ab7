//! The messages to the service manager that started this process, by the protocol of systemd's `sd_notify`.

use std::convert::Infallible;
use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::sleep;

/// The service manager of this process, which is told how the kernel stands; nobody, where none wants to know.
#[derive(Debug)]
pub struct ServiceManager {
    socket: Option<UnixDatagram>,
    /// The time within which the manager wants to hear from this process again and again.
    patience: Option<Duration>,
}

impl ServiceManager {
    /// Returns the manager that the environment names.
    pub fn from_environment() -> Self {
        let socket = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()).and_then(|name| {
            let failed =
                |error: &io::Error| tracing::warn!(%error, "the service manager cannot be told anything");
            connected(&name).inspect_err(failed).ok()
        });
        let number = |name: &str| env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
        let is_meant = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let micros = number("WATCHDOG_USEC").filter(|micros| is_meant && *micros > 1);
        Self { socket, patience: micros.map(Duration::from_micros) }
    }

    /// Tells the manager that the kernel reads its configuration anew, or that another kernel is about to follow.
    pub fn reloading(&self) {
        let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={}", now.as_micros()));
    }

    /// Tells the manager twice within its patience that the kernel lives, as long as the runtime runs new tasks.
    pub async fn reassure(&self) -> Infallible {
        let Some(patience) = self.patience else { return std::future::pending().await };
        loop {
            if tokio::spawn(async {}).await.is_ok() {
                self.tell("WATCHDOG=1");
            }
            sleep(patience / 2).await;
        }
    }

    /// Tells the manager something, in its words.
    pub fn tell(&self, message: &str) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = socket.send(message.as_bytes()) {
            tracing::warn!(%error, message, "the service manager was not told");
        }
    }
}

/// The message that clients can connect, or that a reload is done.
pub const READY: &str = "READY=1";
/// The time that a manager has to make room for a message.
const LONGEST_TELLING: Duration = Duration::from_secs(1);

/// Connects to the socket of a manager. A name that begins with `@` is none of a file.
fn connected(name: &OsStr) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(LONGEST_TELLING))?;
    #[cfg(target_os = "linux")]
    if let Some(name) = name.as_encoded_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt as _;
        socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?;
        return Ok(socket);
    }
    socket.connect_addr(&SocketAddr::from_pathname(name)?)?;
    Ok(socket)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn managers_with_and_without_a_file_hear_what_they_are_told() {
        use std::os::linux::net::SocketAddrExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let hidden = format!("mgp-test-{}", std::process::id());
        let without = SocketAddr::from_abstract_name(&hidden).unwrap();
        for (own, name) in [
            (UnixDatagram::bind(&path).unwrap(), path.into_os_string()),
            (UnixDatagram::bind_addr(&without).unwrap(), format!("@{hidden}").into()),
        ] {
            let manager = ServiceManager { socket: Some(connected(&name).unwrap()), patience: None };
            manager.tell(READY);
            let mut heard = [0; 64];
            let length = own.recv(&mut heard).unwrap();
            assert_eq!(&heard[..length], b"READY=1");
        }
    }
}
