/// A handler of the end of a turn, for work that is collected during the turn.
public protocol TurnHandler: AnyObject {
  /// Called on the loop's thread at the end of a turn, before the next poll.
  func turnEnds()
}

extension Loop {
  /// Calls the handler once, when everything else in this turn is done and before the loop may
  /// sleep; if added by such a handler, at the end of the next turn. Traps off the loop's thread.
  public func atEndOfTurn(_ handler: any TurnHandler) {
    requireCurrent()
    turnHandlers.append(handler)
  }

  func endTurn() {
    // What is resumed now runs after the next poll.
    if !resting.isEmpty {
      for waiter in resting { waiter.resume() }
      resting.clear()
    }
    guard !turnHandlers.isEmpty else { return }
    swap(&turnHandlers, &endingHandlers)
    for handler in endingHandlers {
      handler.turnEnds()
      ended("\(type(of: handler)) at the end of the turn")
    }
    endingHandlers.clear()
  }
}

extension Array {
  /// Removes all elements and keeps the memory. For one element, the usual number in a turn, this
  /// costs a sixth of `removeAll(keepingCapacity:)`.
  mutating func clear() {
    if count == 1 { removeLast() } else { removeAll(keepingCapacity: true) }
  }
}
