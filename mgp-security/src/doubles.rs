//! Test doubles that the tests of all sections share: a clock, an audit port and a server that tests control.
#![allow(dead_code, reason = "each section needs its part, and can be built alone")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use mgp_types::mgp::{AuditEvent, AuditPort, Timestamp};
use mgp_types::{BoxFuture, Error, Object, RawJson, Request, Response};
use parking_lot::Mutex;
use tower_service::Service;

use crate::Clock;

/// A clock that tests set by hand.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    pub(crate) fn at(millis: i64) -> Self {
        Self(Arc::new(AtomicI64::new(millis)))
    }

    pub(crate) fn set(&self, millis: i64) {
        self.0.store(millis, Ordering::Relaxed);
    }

    pub(crate) fn clock(&self) -> Clock {
        let hands = self.0.clone();
        Clock::new(move || moment(hands.load(Ordering::Relaxed)))
    }
}

pub(crate) fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

/// An audit port that keeps the events it receives, and can be made to fail.
#[derive(Debug, Default)]
pub(crate) struct RecordingAuditPort {
    pub(crate) batches: Mutex<Vec<Vec<AuditEvent>>>,
    /// The error with which every attempt to record fails.
    pub(crate) fault: Mutex<Option<Error>>,
    /// The error with which the port reports, before anything is recorded, that recording will fail.
    pub(crate) shut: Mutex<Option<Error>>,
}

impl RecordingAuditPort {
    pub(crate) fn events(&self) -> Vec<AuditEvent> {
        self.batches.lock().concat()
    }

    #[track_caller]
    pub(crate) fn only(&self) -> AuditEvent {
        let mut events = self.events();
        assert_eq!(events.len(), 1, "{events:?}");
        events.remove(0)
    }

    /// Returns the recorded events, each as `TYPE permission RESULT`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |event: &AuditEvent| {
            let permission = event.details.text("permission").unwrap_or_default();
            format!("{} {permission} {}", event.event_type.as_str(), event.result.as_str())
        };
        self.events().iter().map(line).collect()
    }

    /// Makes every later attempt to record fail.
    pub(crate) fn fail(&self) {
        *self.fault.lock() = Some(Error::internal("the log is full"));
    }

    pub(crate) fn mend(&self) {
        *self.fault.lock() = None;
    }
}

impl AuditPort for RecordingAuditPort {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        self.record_all(vec![event])
    }

    fn record_all(&self, events: Vec<AuditEvent>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if let Some(error) = self.fault.lock().clone() {
                return Err(error);
            }
            self.batches.lock().push(events);
            Ok(())
        })
    }

    fn open(&self, _: &dyn Fn() -> Object) -> Result<Option<u32>, Error> {
        self.shut.lock().clone().map_or(Ok(None), Err)
    }
}

/// Returns a database in memory.
#[cfg(feature = "sqlite")]
pub(crate) fn database() -> mgp_store::Database {
    mgp_store::Database::in_memory().unwrap()
}

/// Returns the databases of kernels that share the order of their changes.
#[cfg(feature = "sqlite")]
pub(crate) fn shared_databases<const N: usize>() -> [mgp_store::Database; N] {
    let order = Arc::<mgp_store::testing::MemoryOrder>::default();
    [(); N].map(|()| {
        let database = database();
        database.share(Arc::clone(&order) as _, mgp_store::OrderKey::new("secret")).unwrap();
        database
    })
}

/// Makes each row that is added to `table` fail, as on a full disk, while `when` is true in SQL.
#[cfg(feature = "sqlite")]
pub(crate) fn fill(database: &mgp_store::Database, table: &str, when: &str) {
    // SQLite calls a table full whose numbers are used up.
    let full = format!(
        "CREATE TEMP TABLE numbers (number INTEGER PRIMARY KEY AUTOINCREMENT, x);
         INSERT INTO numbers VALUES (9223372036854775807, 1);
         CREATE TEMP TRIGGER full BEFORE INSERT ON {table} WHEN {when} BEGIN INSERT INTO numbers (x) VALUES (1); END"
    );
    database.connection().execute_batch(&full).unwrap();
}

/// Ends what [`fill`] began.
#[cfg(feature = "sqlite")]
pub(crate) fn make_room(database: &mgp_store::Database) {
    database.connection().execute_batch("DROP TRIGGER full; DROP TABLE numbers").unwrap();
}

/// Holds up everybody who reads or writes the database, until the returned value is dropped.
#[cfg(feature = "sqlite")]
pub(crate) fn hold(database: &mgp_store::Database) -> std::sync::mpsc::Sender<()> {
    let ((go, wait), (begun, begins)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel());
    let database = database.clone();
    std::thread::spawn(move || {
        let _held = database.connection();
        begun.send(()).unwrap();
        let _dropped = wait.recv();
    });
    begins.recv().unwrap();
    go
}

/// A server that keeps the requests it receives and answers as it is told, by default with `{}`.
#[derive(Clone)]
pub(crate) struct TestServer {
    pub(crate) seen: Arc<Mutex<Vec<Request>>>,
    work: TestWork,
}

type TestWork = Arc<dyn Fn(Request) -> BoxFuture<'static, Result<Response, Error>> + Send + Sync>;

impl TestServer {
    pub(crate) fn new() -> Self {
        Self::answering(|_| Ok(Response::empty()))
    }

    pub(crate) fn answering(
        answer: impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static,
    ) -> Self {
        Self::working(move |request| {
            let answer = answer(&request);
            Box::pin(std::future::ready(answer))
        })
    }

    pub(crate) fn with_result(json: &'static str) -> Self {
        Self::answering(move |_| Ok(Response::new(RawJson::parse(json).unwrap())))
    }

    pub(crate) fn working(
        work: impl Fn(Request) -> BoxFuture<'static, Result<Response, Error>> + Send + Sync + 'static,
    ) -> Self {
        Self { seen: Arc::default(), work: Arc::new(work) }
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        self.seen.lock().iter().map(|request| request.method.as_str().to_owned()).collect()
    }

    pub(crate) fn last(&self) -> Request {
        self.seen.lock().last().unwrap().clone()
    }
}

impl Service<Request> for TestServer {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.seen.lock().push(request.clone());
        (self.work)(request)
    }
}

mgp_types::partial_debug!(TestServer, self => seen: self.methods());

/// Returns the rows `KEY⇥TEXT` of a table of cases. In a text, `⏎` stands for a line end, `⇥` for a tab, `␍` for a
/// carriage return, `␀` for a zero, and `␣` for a blank at an edge. Lines that begin with `## ` are headings.
pub(crate) fn cases(table: &'static str) -> impl Iterator<Item = (&'static str, String)> {
    let plain = |sign| match sign {
        '⏎' => '\n',
        '⇥' => '\t',
        '␍' => '\r',
        '␀' => '\0',
        '␣' => ' ',
        other => other,
    };
    table.lines().filter(|line| !line.starts_with("## ")).map(move |row| {
        let (key, text) = row.split_once('\t').unwrap_or_else(|| panic!("a row has a key: {row}"));
        (key, text.chars().map(plain).collect())
    })
}
