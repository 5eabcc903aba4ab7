//! Tests of a PostgreSQL or a kernel that stops, and of how both go on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use mgp_store::StoreError;
use rusqlite::params;
use rustix::process::Signal;

use super::server::{COMMON, RUNTIME, Server, execute};
use super::{add, count, cut, kernel_at, names};

#[test]
fn a_change_during_which_the_database_stops_ends_with_an_error_and_is_made_nowhere() {
    let server = Server::start();
    let name = server.new_database();
    let [one, other] = [(); 2].map(|()| kernel_at(&server, &name));
    let began = SystemTime::now();
    let stopped = one.change(|change| {
        server.signal(Signal::STOP);
        change.execute("INSERT INTO things (name) VALUES ('half')", &[])
    });
    assert!(matches!(stopped, Err(StoreError::Unavailable(_))), "{stopped:?}");
    assert!(other.catch_up().is_err() && add(&other, "never").is_err());
    assert!(began.elapsed().unwrap() < 3 * LONGEST, "{:?} for three errors", began.elapsed());
    server.signal(Signal::CONT);
    until(|| add(&other, "after").is_ok());
    one.catch_up().unwrap();
    assert_eq!([names(&one), names(&other)], [["after"]; 2]);
}

#[test]
fn what_was_acknowledged_is_there_once_whatever_happens_to_the_database() {
    let server = Server::start();
    let name = server.new_database();
    let kernels = [(); 2].map(|()| kernel_at(&server, &name));
    let is_over = AtomicBool::new(false);
    let acknowledged = std::thread::scope(|scope| {
        let changing = kernels.each_ref().map(|kernel| {
            scope.spawn(|| {
                let (mut acknowledged, mut last) = (Vec::new(), false);
                // One more change than needed, so that the last one is made after all faults.
                for at in 0.. {
                    let thing = format!("{:?} {at}", std::thread::current().id());
                    // A change whose outcome is not known is repeated: it may have been made.
                    until(|| {
                        let put = "INSERT OR IGNORE INTO things (name) VALUES (?1)";
                        kernel.execute(put, params![thing]).is_ok()
                    });
                    acknowledged.push(thing);
                    if std::mem::replace(&mut last, is_over.load(Ordering::Acquire)) {
                        break;
                    }
                }
                acknowledged
            })
        });
        let others = server.connect("postgres");
        for _ in 0..20 {
            until_more(&server, &name);
            cut(&others, &name);
        }
        for _ in 0..3 {
            until_more(&server, &name);
            server.restart("");
        }
        until_more(&server, &name);
        server.signal(Signal::STOP);
        std::thread::sleep(LONGER_THAN_A_QUERY);
        server.signal(Signal::CONT);
        until_more(&server, &name);
        is_over.store(true, Ordering::Release);
        changing.map(|thread| thread.join().unwrap()).concat()
    });
    for kernel in &kernels {
        kernel.catch_up().unwrap();
        let mut found = names(kernel);
        found.sort();
        let mut expected = acknowledged.clone();
        expected.sort();
        assert_eq!(found, expected);
    }
    assert_eq!(names(&kernels[0]), names(&kernels[1]));
}

#[test]
fn a_kernel_that_keeps_the_turn_for_too_long_loses_it() {
    let name = COMMON.new_database();
    let [slow, other] = [(); 2].map(|()| kernel_at(&COMMON, &name));
    let lost = slow.change(|change| {
        let began = SystemTime::now();
        let first = add(&other, "first");
        assert!(matches!(first, Err(StoreError::Unavailable(_))), "{first:?}");
        until(|| add(&other, "second").is_ok());
        assert!(began.elapsed().unwrap() < LONGEST);
        change.execute("INSERT INTO things (name) VALUES ('lost')", &[])
    });
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    add(&slow, "third").unwrap();
    other.catch_up().unwrap();
    assert_eq!([names(&slow), names(&other)], [["second", "third"]; 2]);
}

#[test]
fn a_notice_and_the_loss_of_the_connection_for_notices_wake_a_kernel() {
    let name = COMMON.new_database();
    let (listener, kernel) = (COMMON.connect(&name), kernel_at(&COMMON, &name));
    let listening = RUNTIME.spawn({
        let listener = listener.clone();
        async move { listener.listen().await }
    });
    let listens = || {
        until(|| {
            let query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                         AND query = 'LISTEN mgp' AND state = 'idle'";
            count(&COMMON.connect(&name), query) == 1
        });
    };
    let is_woken = || {
        let began = SystemTime::now();
        RUNTIME.block_on(listener.appended(10 * LONGEST));
        began.elapsed().unwrap() < LONGEST
    };
    listens();
    add(&kernel, "a").unwrap();
    assert!(is_woken(), "another kernel appended something");
    cut(&COMMON.connect("postgres"), &name);
    assert!(is_woken(), "something may have been appended since the connection was lost");
    listens();
    add(&kernel, "b").or_else(|_| add(&kernel, "b")).unwrap();
    assert!(is_woken(), "the connection was made again");
    listening.abort();
}

#[test]
fn one_error_is_enough_to_notice_that_all_connections_are_lost() {
    let server = Server::start();
    let name = server.new_database();
    let postgres = server.connect(&name);
    let all_at_once = async {
        let mut clients = Vec::new();
        for _ in 0..5 {
            clients.push(postgres.client().await.unwrap());
        }
    };
    RUNTIME.block_on(all_at_once);
    let order = postgres.order("things");
    server.signal(Signal::STOP);
    mgp_store::Order::since(&order, 0).unwrap_err();
    server.signal(Signal::CONT);
    let connections = || {
        count(
            &postgres,
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mgp' \
                                           AND datname = current_database()",
        )
    };
    until(|| connections() == 1);
}

#[test]
fn a_user_who_may_make_no_tables_is_told_so_and_connections_stay_usable() {
    let name = COMMON.new_database();
    let owner = COMMON.connect(&name);
    execute(&owner, "DROP TABLE mgp_tables; DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN");
    let url = COMMON.url(&name, "").replace("postgres@", "reader@");
    let reader = {
        let _runtime = RUNTIME.enter();
        mgp_store::Postgres::new(&url, None).unwrap()
    };
    let error = RUNTIME.block_on(reader.init()).unwrap_err().to_string();
    assert!(!error.is_empty());
    assert_eq!(count(&reader, "SELECT 1::bigint"), 1);
}

/// Waits until something is so, as long as nothing takes too long.
fn until(is_so: impl Fn() -> bool) {
    let began = SystemTime::now();
    while !is_so() {
        assert!(began.elapsed().unwrap() < 3 * LONGEST, "something takes too long");
    }
}

/// Waits until more was appended.
fn until_more(server: &Server, name: &str) {
    let appended = || {
        let postgres = server.connect(name);
        let read = async {
            let client = postgres.client().await.ok()?;
            let row = client.query_one("SELECT version FROM mgp_order", &[]).await.ok()?;
            Some(row.get::<_, i64>(0))
        };
        RUNTIME.block_on(read)
    };
    let before = appended();
    until(|| appended().is_some_and(|now| before.is_none_or(|before| now > before)));
}

/// The longest time for which a change may wait.
const LONGEST: Duration = Duration::from_secs(10);

/// A time after which a query has failed.
const LONGER_THAN_A_QUERY: Duration = Duration::from_secs(4);
