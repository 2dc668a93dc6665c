/// One who gathers what one turn of a loop brings, and does something with it once.
public protocol TurnHandler: AnyObject {
  /// Called on the loop's thread at the end of a turn, before the next poll.
  func turnEnds()
}

extension Loop {
  /// Calls the handler once, when everything else of this turn is done and before the loop may
  /// sleep. Asked for at the end of a turn, at the end of the next. Traps off the loop's thread.
  public func atEndOfTurn(_ handler: any TurnHandler) {
    requireCurrent()
    turnHandlers.append(handler)
  }

  func endTurn() {
    guard !turnHandlers.isEmpty else { return }
    swap(&turnHandlers, &endingHandlers)
    for handler in endingHandlers { handler.turnEnds() }
    endingHandlers.clear()
  }
}

extension Array {
  /// Empties it, and keeps its memory. Of one element, which a turn most often has, this costs a
  /// sixth of `removeAll(keepingCapacity:)`.
  mutating func clear() {
    if count == 1 { removeLast() } else { removeAll(keepingCapacity: true) }
  }
}
