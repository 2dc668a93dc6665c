import ATT

/// What the owner of a session does with the PDU it just handed in.
public enum SessionAction: Equatable, Sendable {
  /// Nothing that concerns anybody else.
  case none
  /// Deliver the value of the Handle Value Notification.
  case notification
  /// Deliver the values of the Multiple Handle Value Notification.
  case notifications
  /// Deliver the value of the Handle Value Indication, then call ``Session/confirm()``.
  case indication
  /// The client has confirmed this indication.
  case confirmed(TransactionID)
  /// The peer has refused a request for want of security, with this code: raise the link, then
  /// call ``Session/securityRaised(at:)``, or else ``Session/securityNotRaised(at:)``. Only where
  /// ``Session/asksForSecurity`` is set.
  case securityWanted(ErrorCode)
  /// The bearer is dead and all operations have been told. Close the link.
  case failed(BearerFailure)
}
