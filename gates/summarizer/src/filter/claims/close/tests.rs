//! True sentences in words of their own, and lies next to a paragraph or a record.

use crate::filter::{
    claims::{ResultStatements, SentenceSupport},
    facts::ResultFacts,
};
use gatehouse_sdk::text::DigestResult;

const REPORT: &str = "\
# Message brokers compared

Kafka keeps messages on disk for as long as its retention says. In our test a cluster of three nodes
wrote 812 MB/s, with a median latency of 4 ms. Adding a broker means moving partitions by hand, which
took 5-15 minutes for each topic.

RabbitMQ routes messages through exchanges. It wrote 96 MB/s, but it delivered a message in 1 ms at the
median. Quorum queues replicate over Raft and lost nothing when a node was killed.

- NATS JetStream supports exactly-once delivery within a window of 2 minutes.
- Pulsar separates brokers from storage; two teams gave it up because of ZooKeeper.

11 of 18 client libraries implement DPoP completely, and 4 implement a part of it.

The price of a managed cluster rose from 1,200 to 1,450 euros a month in March 2026.
";

const LOG: &str = "\
2026-11-24 ERROR disk quota exceeded on volume nimbus-7
2026-11-24 WARN backup of orders took 39 ms
2026-11-24 INFO login of user ada succeeded from 10.0.0.4
2026-11-24 ERROR checksum of block 12 differs; the backup was stopped
";

fn supports(text: &str, kind: &str, sentence: &str) -> Option<SentenceSupport> {
    let digest = DigestResult {
        text: "16 lines.".into(),
        findings: Vec::new(),
        kind: kind.into(),
        tokens_in: 0,
        tokens_out: 0,
        shortened: true,
    };
    ResultStatements::new(text, &digest)
        .support(sentence)
        .filter(|_| ResultFacts::new(&[text]).supports(sentence))
}

#[test]
fn true_sentences_in_their_own_words_are_kept() {
    let truths = [
        "Kafka wrote 812 MB/s on three nodes, and its median latency was 4 ms.",
        "Moving partitions by hand took 5–15 minutes per topic when a broker was added.",
        "RabbitMQ reached 96 MB/s.",
        "RabbitMQ delivered messages in 1 ms at the median.",
        "11 of 18 libraries implement DPoP completely, and 4 implement a part.",
        "Two teams gave Pulsar up because of ZooKeeper.",
        "NATS JetStream has exactly-once delivery in a 2-minute window.",
        "The monthly price of a managed cluster rose from 1,200 to 1,450 euros in March 2026.",
        "Messages in Kafka stay on disk according to its retention.",
        "Quorum queues use Raft for replication, and lost nothing when a node was killed.",
        "In the test, Kafka's three-node cluster wrote 812 MB/s.",
        "RabbitMQ uses exchanges to route messages.",
    ];
    let dropped: Vec<&str> =
        truths.into_iter().filter(|truth| supports(REPORT, "Markdown", truth).is_none()).collect();
    assert!(dropped.len() * 5 <= truths.len(), "{dropped:#?}");
}

#[test]
fn lies_next_to_the_truth_are_dropped() {
    let lies = [
        "Kafka wrote 96 MB/s.",
        "RabbitMQ wrote 812 MB/s on three nodes.",
        "Kafka delivered a message in 1 ms at the median.",
        "Quorum queues lost messages when a node was killed.",
        "Quorum queues lost everything when a node was killed.",
        "NATS JetStream rejects exactly-once delivery within a window of 2 minutes.",
        "NATS JetStream does not support exactly-once delivery within a window of 2 minutes.",
        "Two teams adopted Pulsar because of ZooKeeper.",
        "All client libraries implement DPoP completely.",
        "18 of 11 client libraries implement DPoP completely, and 4 implement a part of it.",
        "4 of 18 client libraries implement DPoP completely.",
        "The price of a managed cluster fell from 1,450 to 1,200 euros a month in March 2026.",
        "RabbitMQ separates brokers from storage.",
        "Pulsar routes messages through exchanges.",
        "Adding a broker to Kafka is automatic.",
        "Kafka never keeps messages on disk.",
        "Kafka is the fastest broker.",
        "The price of a managed cluster rose by 1,200 euros a month.",
        "Kafka's median latency was 15 minutes.",
    ];
    let kept: Vec<_> =
        lies.into_iter().filter_map(|lie| Some((lie, supports(REPORT, "Markdown", lie)?))).collect();
    assert!(kept.len() <= 1, "{kept:#?}");
}

#[test]
fn lines_of_a_log_are_apart() {
    for lie in [
        "The backup of orders was stopped.",
        "The login of user ada differs.",
        "User ada's backup of orders took 39 ms.",
        "The disk of volume nimbus-7 was cleaned.",
    ] {
        assert_eq!(supports(LOG, "log", lie), None, "{lie}");
    }
    let truth = "Volume nimbus-7 had its disk quota exceeded.";
    assert!(supports(LOG, "log", truth).is_some());
}
