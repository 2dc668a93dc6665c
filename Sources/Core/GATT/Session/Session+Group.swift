import AttoATT

// What a group asks its sessions before it chooses one.

extension Session {
  /// An operation that was cancelled while its request was in flight: the server may still execute
  /// it.
  struct Abandoned {
    let footprint: Footprint?
    let preparesWrites: Bool

    init(_ operation: ClientOperation) {
      footprint = operation.footprint
      preparesWrites = operation.preparesWrites
    }
  }

  /// Whether an operation has not ended, or a response is pending.
  var isBusy: Bool { operations.count > 0 || bearer.awaitedRequest != nil }

  /// Whether an operation must not overtake those of this bearer: it conflicts with the values of
  /// one, or with its use of the prepare queue.
  func conflicts(with footprint: Footprint?, preparesWrites: Bool) -> Bool {
    if preparesWrites, operations.isPreparing { return true }
    if let footprint, operations.conflicts(with: footprint) { return true }
    guard let abandoned else { return false }
    return preparesWrites && abandoned.preparesWrites
      || footprint?.conflicts(with: abandoned.footprint) == true
  }
}
