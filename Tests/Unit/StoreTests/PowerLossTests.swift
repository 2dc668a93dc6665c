import AttoATT
import CPowerLoss
import Glibc
import TestSupport
import Testing

@testable import AttoStore
@testable import StoreWorker

/// After a loss of power at any operation of the disk, every record that was acknowledged is there with
/// its values, and none is torn. The disk keeps nothing, all or any part of what was not synced.
@Suite(.serialized, .timeLimit(.minutes(5)), .oneByOne) struct PowerLossTests {
  @Test func nothingAcknowledgedIsLostInAThousandCuts() async throws {
    let seed = testSeed()
    let (wrong, acknowledged) = try await lose(1000, lies: 0, seed)
    #expect(wrong.isEmpty, "seed \(seed)")
    #expect(acknowledged > 2000, "seed \(seed): too few records for a meaningful test")
    print("power loss: 1000 cuts, \(acknowledged) records, \(wrong.count) losses")
  }

  /// The change of a store to this version's tables is done or not done.
  @Test func powerFailsWhileTheVersionChanges() async throws {
    let seed = testSeed()
    var cuts = 0
    defer { power_loss_disarm() }
    for operations in 1...60 as ClosedRange<Int32> {
      let (disk, image) = (
        TemporaryFolder(isInMemory: true), TemporaryFolder(isInMemory: true)
      )
      try FirstVersionTests.make(disk.file())
      let armed = power_loss_arm(
        disk.path, image.path, seed &+ UInt64(operations), operations, 0)
      try #require(armed == 0)
      _ = try await StoreFile(path: disk.file())
      let isCut = power_loss_is_cut() != 0
      power_loss_disarm()
      try await FirstVersionTests.check(isCut ? image.file() : disk.file())
      cuts += isCut ? 1 : 0
    }
    #expect(cuts > 20, "seed \(seed)")
  }

  /// If the disk is not waited for, this test notices.
  @Test(arguments: [POWER_LOSS_LIES_ABOUT_FILES, POWER_LOSS_LIES_ABOUT_FOLDERS])
  func aDiskThatLiesIsNoticed(_ lies: Int32) async throws {
    let seed = testSeed()
    #expect(try await !lose(100, lies: lies, seed).wrong.isEmpty, "seed \(seed)")
  }

  /// Stores records on a disk whose power fails, again and again.
  ///
  /// - Returns: what was wrong after the cuts, and how many records were acknowledged.
  private func lose(
    _ cuts: Int, lies: Int32, _ seed: UInt64
  ) async throws -> (wrong: [String], acknowledged: Int) {
    var random = SplitMix64(seed: seed)
    var disks = (now: TemporaryFolder(isInMemory: true), next: TemporaryFolder(isInMemory: true))
    var ledger = Ledger()
    var (wrong, acknowledged) = ([String](), 0)
    var number: UInt32 = 1
    defer { power_loss_disarm() }
    for cut in 0..<cuts {
      if cut % 50 == 0 {
        for name in disks.now.entries { unlink(disks.now.file(name)) }
        ledger = Ledger()
      }
      let armed = power_loss_arm(
        disks.now.path, disks.next.path, random.next(), Int32.random(in: 1...160, using: &random),
        lies)
      try #require(armed == 0)
      do throws(StoreError) {
        let store = try await StoreFile(path: disks.now.file())
        // The power may fail again while SQLite rolls back.
        if power_loss_is_cut() == 0 {
          let found = await ledger.check(store)
          if !found.isEmpty {
            wrong.append("cut \(cut): \(found)")
            ledger = Ledger()
            try await store.removeAll()
          }
        }
        let before = ledger.acknowledged
        while power_loss_is_cut() == 0 {
          let step = Step(
            kind: Record.Kind.allCases.randomElement(using: &random)!,
            peer: Ledger.peers.randomElement(using: &random)!, number: number)
          number += 1
          ledger.begin(step)
          try await Record.keep(step, in: store)
          if power_loss_is_cut() == 0 { ledger.end() }
        }
        acknowledged += ledger.acknowledged - before
      } catch {
        wrong.append("cut \(cut): \(error)")
        ledger = Ledger()
        for name in disks.next.entries { unlink(disks.next.file(name)) }
      }
      power_loss_disarm()
      disks = (disks.next, disks.now)
    }
    return (wrong, acknowledged)
  }
}

extension StoreFile {
  /// Removes everything that a ledger knows.
  fileprivate func removeAll() async throws(StoreError) {
    for peer in Ledger.peers {
      try await removeBond(adapter: Record.adapter, peer: Record.peer(peer))
    }
  }
}
