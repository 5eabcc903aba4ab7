//! A peer that reads slowly is waited for; one that reads nothing is gone.

use std::time::Duration;

use mgp_transport::{ConnectionLimits, connect, memory};
use mgp_types::{RawJson, Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::support::*;

const CALL: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"blob\"}\n";

/// Returns the peer of a service that answers with a mebibyte, and the connection to it.
fn blob(
    limits: ConnectionLimits,
) -> (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>, JoinHandle<Result<(), mgp_types::Error>>) {
    let service = Does(|_: Request| async {
        Ok(Response::plain(RawJson::parse(format!(r#"{{"x":"{}"}}"#, "x".repeat(1 << 20))).unwrap()))
    });
    let ((reader, writer), far) = memory::pair(16 << 10);
    let (_, connection) = connect(far.0, far.1, &move |_| service.clone(), limits);
    (reader, writer, tokio::spawn(connection))
}

#[tokio::test(start_paused = true)]
async fn one_that_reads_slowly_gets_everything() {
    let (mut reader, mut writer, connection) = blob(ConnectionLimits::default());
    writer.write_all(CALL).await.unwrap();
    let (mut read, mut piece) = (0, vec![0; 8 << 10]);
    let began = Instant::now();
    while read < 1 << 20 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let some = reader.read(&mut piece).await.unwrap();
        assert!(some > 0, "given up after {read} bytes");
        read += some;
    }
    assert!(began.elapsed() > 2 * ConnectionLimits::default().write_timeout);
    assert!(!connection.is_finished());
}

#[tokio::test(start_paused = true)]
async fn one_that_reads_nothing_any_more_is_given_up() {
    let (mut reader, mut writer, connection) = blob(ConnectionLimits::default());
    writer.write_all(CALL).await.unwrap();
    tokio::time::sleep(Duration::from_secs(50)).await;
    reader.read_exact(&mut [0; 1 << 10]).await.unwrap();
    let began = Instant::now();
    let error = in_time(connection).await.unwrap().unwrap_err();
    assert_eq!((error.message(), began.elapsed().as_secs()), ("the peer does not read", 60));
}

#[tokio::test(start_paused = true)]
async fn where_reading_is_ended_calls_in_work_have_the_time_they_are_given() {
    for (drain, answers) in [(Duration::from_secs(30), true), (Duration::from_secs(5), false)] {
        let slow = Does(|_: Request| async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Ok(Response::empty())
        });
        let ((mut reader, mut writer), far) = memory::pair(16 << 10);
        let (_, mut connection) = connect(far.0, far.1, &move |_| slow.clone(), ConnectionLimits::default());
        writer.write_all(CALL).await.unwrap();
        let early = tokio::time::timeout(Duration::from_secs(1), &mut connection).await;
        assert!(early.is_err(), "the call is in work");
        connection.end_reading(drain);
        writer.write_all(CALL).await.unwrap();
        connection.await.unwrap();
        let mut all = String::new();
        reader.read_to_string(&mut all).await.unwrap();
        assert_eq!(all.lines().count(), usize::from(answers), "{all}");
    }
}

#[tokio::test(start_paused = true)]
async fn there_may_be_no_limit() {
    let mut limits = ConnectionLimits::default();
    limits.write_timeout = Duration::MAX;
    limits.drain_timeout = Duration::MAX;
    limits.delivery_timeout = Duration::MAX;
    let (mut reader, mut writer, connection) = blob(limits);
    writer.write_all(CALL).await.unwrap();
    writer.shutdown().await.unwrap();
    tokio::time::sleep(Duration::from_hours(24)).await;
    let mut all = Vec::new();
    in_time(reader.read_to_end(&mut all)).await.unwrap();
    assert!(all.len() > 1 << 20);
    connection.await.unwrap().unwrap();
}
