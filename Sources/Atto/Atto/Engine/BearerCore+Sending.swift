import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks

/// Sending.
///
/// # Theory
/// Notifications and commands that code on the loop sends one after another are collected, up to
/// ``gatheredPDUs`` or the outbox's limit, until the end of the loop's turn at the latest, and sent
/// with one system call: the peer is woken once, and a sender on the same processor is not
/// interrupted for each. Anything else that is sent takes them along in the order of the calls.
///
/// What waits for room (callers that write, a ``ValueBacklog``, callers that notify several clients) sets
/// ``awaitsRoom``, so that sending looks at one flag.
extension BearerCore {
  /// After anything that may have changed the session: sends what it wants sent, sets the timer,
  /// and reports to the server's owner what has happened.
  ///
  /// Most PDUs need only some of these steps, so each is checked before it is taken.
  func settle() {
    if let recorder, recorder.isDue {
      recorder.recordChange(isAcknowledged: !session.bearer.outbox.isEmpty)
    }
    if sender.isBlocked {
      // The link reports when it has room; until then it would only refuse again.
      if awaitsRoom { noteRoom() }
    } else if session.hasOutput || awaitsRoom {
      flush()
    }
    arm()
    if sender.isBlocked { adjustWatch() }
    if let server, server.hasNews { server.settle() }
    if let bearers { bearers.settled(self) }
  }

  /// After a notification or a command that code on the loop sends, and that more may follow.
  func settleLater() {
    guard watch.isSocket, !sender.isMonitored, session.outputCount < Self.gatheredPDUs,
      !session.isCongested
    else { return settle() }
    guard !isGathering else { return }
    isGathering = true
    loop.atEndOfTurn(self)
  }

  /// Sends what the link has room for, and notes what room is left.
  func send() {
    guard !hasEnded else { return }
    guard sendFailure == nil else { return session.bearer.outbox.removeAll() }
    do throws(LinkError) {
      try sender.flush()
    } catch {
      return sendingFailed(.link(error))
    }
    if awaitsRoom { noteRoom() }
  }

  /// The link accepts nothing more. The connection ends when what the peer sent before is read,
  /// with the reason that the link gives; if it gives none, with this error.
  private func sendingFailed(_ error: AttoError) {
    sendFailure = Ending(error)
    sender.isBlocked = false
    session.bearer.outbox.removeAll()
    isDraining = true
    isReadable = true
    if !isReading { continueLater() }
  }
}

extension BearerCore: TurnHandler {
  func turnEnds() {
    isGathering = false
    // If the link has no room, the gathered PDUs wait with the others.
    if session.hasOutput, !sender.isBlocked { settle() }
  }
}
