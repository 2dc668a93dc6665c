import Atto
import AttoEventLoop
import AttoStore

/// The store, which links do not need: while it cannot be used, for instance because its disk is full, nothing is
/// kept between runs, and everything else goes on.
extension Hub {
  /// The pauses between attempts to use a store that has failed.
  static let storePauses: ClosedRange<Duration> = .seconds(1) ... .seconds(60)

  /// Checks the store, and after a failure again and again until it works.
  func checkStore() async {
    guard let store else { return }
    do throws(StoreError) {
      try await use(store)
    } catch {
      storeFailed(error)
    }
  }

  private func use(_ store: StoreFile) async throws(StoreError) {
    try await store.check()
    for notice in store.notices where storeNotices.insert(notice).inserted { log(.warning, notice) }
  }

  /// A call to the store has failed, and others would.
  package func storeFailed(_ error: StoreError) {
    guard error != storeFault else { return }
    storeFault = error
    log(
      .warning,
      "bonds and services are not kept until the store works: \(error)"
        + (error.hint.map { "\nhint: \($0)" } ?? ""))
    guard let store, storeRecovery == nil else { return }
    storeRecovery = Task(executorPreference: loop.tasks) { await self.recover(store) }
  }

  private func recover(_ store: StoreFile) async {
    var pause = Self.storePauses.lowerBound
    while storeFault != nil {
      do { try await loop.sleep(for: pause) } catch { return }
      pause = min(pause * 2, Self.storePauses.upperBound)
      do throws(StoreError) {
        try await use(store)
        try await whenStoreWorks()
        storeFault = nil
      } catch {
        storeFailed(error)
      }
    }
    storeRecovery = nil
    log(.notice, "the store \(store.path) works: bonds and services are kept")
  }
}
