//! The Secret Service, which GNOME Keyring, KWallet and KeePassXC offer on the session's D-Bus.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use secret_service::{EncryptionType, Error, Item, SearchItemsResult, SecretService as Service};
use zbus::DBusError as _;
use zbus::connection::Builder;

use super::{Keyring, KeyringError, KeyringSilence};
use crate::secrets::{Secret, SecretName, Secrets};

/// The Secret Service of a bus. A secret is an item of the default collection, with the attributes `application = mgp`
/// and `name`, which a locked collection tells as well. Values cross the bus encrypted.
#[derive(Debug)]
pub(super) struct SecretService {
    /// The address of the bus; `None` for the bus of the session.
    bus: Option<String>,
    limit: Duration,
    silence: &'static KeyringSilence,
}

/// The time for an answer; the service may have to be started first.
const LIMIT: Duration = Duration::from_secs(10);

static SILENCE: KeyringSilence = KeyringSilence::new();

impl SecretService {
    /// Creates the service of the user's session.
    pub(super) fn of_session() -> Self {
        Self { bus: None, limit: LIMIT, silence: &SILENCE }
    }

    /// Asks the service with a runtime of its own, as the thread of the caller may have one already, and gives up at
    /// the limit.
    fn ask<T: Send>(
        &self,
        question: impl AsyncFnOnce(Service<'static>) -> Result<T, KeyringError> + Send,
    ) -> Result<T, KeyringError> {
        let answer = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let asked = async { question(self.connect().await?).await };
            let answer = runtime.block_on(async { tokio::time::timeout(self.limit, asked).await });
            answer.unwrap_or(Err(KeyringError::NoAnswer(self.limit)))
        };
        let in_thread = || {
            thread::scope(|scope| {
                let asking = thread::Builder::new().name("keyring".to_owned()).spawn_scoped(scope, answer)?;
                asking.join().unwrap_or_else(|panic| resume_unwind(panic))
            })
        };
        self.silence.ask(self.limit, in_thread)
    }

    async fn connect(&self) -> Result<Service<'static>, KeyringError> {
        let bus = match &self.bus {
            Some(address) => Builder::address(address.as_str()),
            None => Builder::session(),
        };
        let connected = async { bus?.build().await };
        let bus = connected.await.map_err(KeyringError::from)?;
        Ok(Service::connect_with_existing(EncryptionType::Dh, bus).await?)
    }
}

const NAME: &str = "name";
const OF_MGP: (&str, &str) = ("application", "mgp");

impl Keyring for SecretService {
    fn name(&self) -> &'static str {
        "the keyring (Secret Service)"
    }

    fn check(&self) -> Result<(), KeyringError> {
        self.ask(async |service| Ok(service.get_default_collection().await?.ensure_unlocked().await?))
    }

    fn names(&self) -> Result<BTreeSet<SecretName>, KeyringError> {
        self.ask(async |service| {
            let found = service.search_items(HashMap::from([OF_MGP])).await?;
            let mut names = BTreeSet::new();
            for item in found.unlocked.iter().chain(&found.locked) {
                let attributes = item.get_attributes().await?;
                names.extend(attributes.get(NAME).and_then(|name| name.parse().ok()));
            }
            Ok(names)
        })
    }

    fn secret(&self, name: &SecretName) -> Result<Option<Secret>, KeyringError> {
        self.ask(async |service| {
            let found = found(&service, name).await?;
            let Some(item) = found.unlocked.first() else {
                return if found.locked.is_empty() { Ok(None) } else { Err(KeyringError::Locked) };
            };
            let text = String::from_utf8(item.get_secret().await?);
            let text = text.map_err(|_| KeyringError::Refused(format!("{name} is not a text")))?;
            Ok(Some(text.into()))
        })
    }

    fn set(&self, secrets: &Secrets) -> Result<(), KeyringError> {
        self.ask(async |service| {
            let collection = service.get_default_collection().await?;
            collection.ensure_unlocked().await?;
            for (name, secret) in secrets {
                let label = format!("{name} (mgp)");
                let (attributes, secret) = (attributes(name), secret.expose().as_bytes());
                let set = collection.create_item(&label, attributes, secret, true, "text/plain").await?;
                // The search also finds items of other collections.
                for other in found(&service, name).await?.unlocked {
                    if other.item_path != set.item_path {
                        other.delete().await?;
                    }
                }
            }
            Ok(())
        })
    }

    fn remove(&self, name: &SecretName) -> Result<bool, KeyringError> {
        self.ask(async |service| {
            let found = found(&service, name).await?;
            if !found.locked.is_empty() {
                return Err(KeyringError::Locked);
            }
            for item in &found.unlocked {
                item.delete().await?;
            }
            Ok(!found.unlocked.is_empty())
        })
    }
}

async fn found<'s>(
    service: &'s Service<'static>,
    name: &SecretName,
) -> Result<SearchItemsResult<Item<'s>>, Error> {
    service.search_items(attributes(name)).await
}

fn attributes(name: &SecretName) -> HashMap<&str, &str> {
    HashMap::from([OF_MGP, (NAME, name.as_str())])
}

mgp_types::convert!(Error => KeyringError, error => match error {
    // A service without a default collection has no place for a secret.
    Error::Unavailable | Error::NoResult => Self::Absent,
    Error::Locked | Error::Prompt => Self::Locked,
    Error::Zbus(error) => error.into(),
    Error::ZbusFdo(error) => zbus::Error::FDO(error.into()).into(),
    error => Self::Refused(error.to_string()),
});

mgp_types::convert!(zbus::Error => KeyringError, error => {
    let is_absent = match &error {
        // Without a session there is no bus, as over SSH and in services of the system.
        zbus::Error::Address(_) => true,
        zbus::Error::Connection(error, _) | zbus::Error::InputOutput(error) => {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
        }
        zbus::Error::MethodError(name, ..) => is_unknown_service(name.as_str()),
        zbus::Error::FDO(error) => is_unknown_service(error.name().as_str()),
        _ => false,
    };
    if is_absent { Self::Absent } else { Self::Refused(error.to_string()) }
});

mgp_types::convert!(io::Error => KeyringError, error => Self::Refused(error.to_string()));

/// Returns whether an error of the bus says that the service is unknown and cannot be started.
fn is_unknown_service(error: &str) -> bool {
    error.strip_prefix("org.freedesktop.DBus.Error.").is_some_and(|error| {
        ["ServiceUnknown", "NameHasNoOwner"].contains(&error) || error.starts_with("Spawn.")
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixListener;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::secrets::{SecretFile, SecretStoreError, UserSecrets};

    /// A bus of its own with GNOME Keyring and an empty keyring that is unlocked.
    struct Desktop {
        folder: tempfile::TempDir,
        address: String,
        programs: Vec<Child>,
    }

    impl Desktop {
        /// Starts the bus; `None` where the programs are not installed.
        fn start() -> Option<Self> {
            let folder = tempfile::tempdir().unwrap();
            // The bus starts no service by itself, which would have a locked keyring of its own.
            let config = folder.path().join("bus.conf");
            fs::write(&config, BUS.replace("FOLDER", &folder.path().display().to_string())).unwrap();
            let mut bus = Command::new("dbus-daemon")
                .args(["--nofork", "--nopidfile", "--print-address", "--config-file"])
                .arg(config)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .ok()?;
            let mut address = String::new();
            BufReader::new(bus.stdout.take()?).read_line(&mut address).unwrap();
            let mut desktop = Self { folder, address: address.trim().to_owned(), programs: vec![bus] };
            let home = desktop.folder.path();
            let mut daemon = Command::new("gnome-keyring-daemon")
                .args(["--unlock", "--foreground", "--components=secrets"])
                .env("DBUS_SESSION_BUS_ADDRESS", &desktop.address)
                .envs(["HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"].map(|name| (name, home)))
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .ok()?;
            // The daemon reads the password of the new keyring.
            daemon.stdin.take()?.write_all(b"of a test").unwrap();
            desktop.programs.push(daemon);
            let service = desktop.service();
            let is_ready = (0..1200).any(|_| {
                thread::sleep(Duration::from_millis(50));
                service.check() != Err(KeyringError::Absent)
            });
            assert!(is_ready, "gnome-keyring-daemon did not start within a minute");
            Some(desktop)
        }

        fn service(&self) -> SecretService {
            service(self.address.clone(), Duration::from_mins(1))
        }

        fn lock(&self) {
            let lock =
                async |service: Service<'static>| Ok(service.get_default_collection().await?.lock().await?);
            self.service().ask(lock).unwrap();
        }
    }

    impl Drop for Desktop {
        fn drop(&mut self) {
            for program in &mut self.programs {
                let _ = program.kill();
                let _ = program.wait();
            }
        }
    }

    const BUS: &str = r#"<busconfig>
        <type>session</type>
        <listen>unix:dir=FOLDER</listen>
        <policy context="default">
            <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
        </policy>
    </busconfig>"#;

    #[test]
    fn a_real_keyring_keeps_secrets_and_tells_when_it_is_locked() {
        let Some(desktop) = Desktop::start() else {
            return println!("skipped: there is no dbus-daemon or no gnome-keyring-daemon");
        };
        let file = SecretFile::at(desktop.folder.path().join("mgp/secrets.toml"));
        let store = UserSecrets::new(file.clone(), Some(Box::new(desktop.service())));
        let [hub, tickets] = ["HUB", "tickets.eu-1"].map(|name| name.parse::<SecretName>().unwrap());
        let secret = |text: &str| Secret::from(text.to_owned());
        file.set([(hub.clone(), secret("old"))].into()).unwrap();
        for value in ["one", "s3cret \"ä\"\n"] {
            let both = [(hub.clone(), secret(value)), (tickets.clone(), secret("3"))];
            assert_eq!(store.set(both.into()).unwrap(), "the keyring (Secret Service)");
            assert_eq!(store.secret(&hub).unwrap().unwrap().expose(), value);
        }
        let names = store.names().unwrap();
        assert!(names.len() == 2 && names.values().all(|place| place == "the keyring (Secret Service)"));
        assert!(file.names().unwrap().is_empty());
        assert!(store.remove(&tickets).unwrap() && !store.remove(&tickets).unwrap());
        assert!(store.secret(&tickets).unwrap().is_none());

        desktop.lock();
        let locked = |error| matches!(error, SecretStoreError::Keyring { error: KeyringError::Locked, .. });
        assert!(locked(store.secret(&hub).unwrap_err()) && locked(store.location().unwrap_err()));
        assert!(locked(store.set([(tickets.clone(), secret("4"))].into()).unwrap_err()));
        assert!(locked(store.remove(&hub).unwrap_err()));
        assert!(store.names().unwrap().contains_key(&hub) && store.secret(&tickets).unwrap().is_none());
        let store = store.in_file();
        store.set([(hub.clone(), secret("5"))].into()).unwrap();
        assert_eq!(store.secret(&hub).unwrap().unwrap().expose(), "5");
    }

    fn service(bus: String, limit: Duration) -> SecretService {
        SecretService { bus: Some(bus), limit, silence: Box::leak(Box::new(KeyringSilence::new())) }
    }

    #[test]
    fn a_bus_that_is_not_there_or_has_ended_is_no_keyring() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bus");
        let service = service(format!("unix:path={}", socket.display()), Duration::from_mins(1));
        assert_eq!(service.check(), Err(KeyringError::Absent));
        // A bus that ended leaves its socket behind.
        drop(UnixListener::bind(&socket).unwrap());
        assert_eq!(service.names(), Err(KeyringError::Absent));
    }

    #[test]
    fn a_bus_that_says_nothing_is_waited_for_once_and_no_longer_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bus");
        let silent = UnixListener::bind(&socket).unwrap();
        silent.set_nonblocking(true).unwrap();
        let limit = Duration::from_millis(50);
        let service = service(format!("unix:path={}", socket.display()), limit);
        for name in ["HUB", "TICKETS"] {
            let answer = service.secret(&name.parse().unwrap());
            assert_eq!(answer.unwrap_err(), KeyringError::NoAnswer(limit));
        }
        assert!(silent.incoming().take_while(Result::is_ok).count() <= 1, "the second is not asked for");
    }
}
