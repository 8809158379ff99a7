//! Many objects, many Kustomizations and large manifests: what they cost, and the memory that they never need. Tests of `long` are
//! the same with the numbers of the largest installations; a person runs them (`make e2e-long`).

mod fleet;
mod large;
mod objects;

use std::time::{Duration, Instant};

use weir_testkit::{AuditCounts, Process};

use crate::memory::peak;
use crate::world::World;

/// Longest wait for one step, on a machine that compiles meanwhile.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Prints what each step has cost.
struct Meter<'w> {
    world: &'w World,
    pid: u32,
    counts: AuditCounts,
    since: Instant,
}

impl<'w> Meter<'w> {
    fn new(world: &'w World, process: &Process) -> Self {
        Self { world, pid: process.pid(), counts: AuditCounts::default(), since: Instant::now() }
    }

    /// Ends a step; returns the requests of the service in it.
    fn step(&mut self, name: &str) -> u64 {
        let counts = self.world.plane().audit_counts().unwrap();
        let own = counts.since(&self.counts);
        let requests = own.total(|key| key.user == "weir" && key.verb != "watch");
        let (seconds, mebibytes) = (self.since.elapsed().as_secs(), peak(self.pid) >> 20);
        println!("{name}: {seconds} s, {requests} requests, at most {mebibytes} MiB");
        for (key, count) in own.iter().filter(|(key, count)| key.user == "weir" && *count > 50) {
            println!("  {count} {} {}", key.verb, key.resource);
        }
        (self.counts, self.since) = (counts, Instant::now());
        requests
    }
}
