/// What the owner of a bearer does with the PDU it just handed in.
public enum BearerAction: Equatable, Sendable {
  /// Nothing: the PDU has no effect, for the reason given. Counted by the bearer.
  case ignored(Ignored)
  /// Nothing: the bearer has answered by itself (the answer is in the outbox).
  case answered
  /// Have the server handle the request and call `respond`.
  case request
  /// Nothing yet: an earlier request is unanswered. It comes again from `takeHeldRequest`.
  case held
  /// Have the server handle the command. Nothing is answered.
  case command
  /// Hand the PDU to the owner of this transaction. The request slot is free again.
  case response(TransactionID)
  /// Deliver the value.
  case notification
  /// Deliver the value, then call `confirm`.
  case indication
  /// The indication of this transaction has been confirmed. The indication slot is free again.
  case confirmation(TransactionID)
  /// The bearer is dead: end all transactions and close the link.
  case failed(BearerFailure)

  /// Why a PDU has no effect.
  public enum Ignored: Equatable, Sendable {
    /// Not a single octet.
    case empty
    /// A command with an unknown opcode. Vol 3, Part F, 3.3.
    case unknownCommand(Opcode)
    /// A command, notification or confirmation that has not its form.
    case malformed(Opcode)
    /// A response when nothing was asked.
    case unsolicitedResponse(Opcode)
    /// A confirmation when nothing was indicated.
    case unsolicitedConfirmation
    /// The response to a request, or the confirmation of an indication, that was cancelled.
    case abandoned
    /// Whatever arrives on a dead bearer.
    case dead
  }
}
