/// What the owner of a bearer must do with the PDU that was just received.
public enum BearerAction: Equatable, Sendable {
  /// Nothing: the PDU had no effect. See ``Bearer/ignoredCount``.
  case ignored(Ignored)
  /// Nothing: the bearer has put the response into its outbox.
  case answered
  /// Handle the request, then call ``Bearer/respond(_:)``.
  case request
  /// Nothing yet, because an earlier request is unanswered. ``Bearer/dequeueHeldRequest(into:)``
  /// will return this one.
  case held
  /// Handle the command. It has no response.
  case command
  /// Pass the PDU to the owner of this transaction. The request slot is free again.
  case response(TransactionID)
  /// Deliver the value.
  case notification
  /// Deliver the value, then call ``Bearer/confirm()``.
  case indication
  /// The indication of this transaction has been confirmed. The indication slot is free again.
  case confirmation(TransactionID)
  /// The bearer has failed: end all transactions and close the link.
  case failed(BearerFailure)

  /// Why a PDU had no effect.
  public enum Ignored: Equatable, Sendable {
    /// The PDU is empty.
    case empty
    /// A command with an unknown opcode. Vol 3, Part F, 3.3.
    case unknownCommand(Opcode)
    /// A malformed command, notification, indication or confirmation.
    case malformed(Opcode)
    /// A response without a request in flight.
    case unsolicitedResponse(Opcode)
    /// A confirmation without an indication in flight.
    case unsolicitedConfirmation
    /// The response to a cancelled request, or the confirmation of a cancelled indication.
    case abandoned
    /// The bearer has failed.
    case dead
  }
}
