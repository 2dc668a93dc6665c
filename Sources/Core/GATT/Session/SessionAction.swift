import AttoATT

/// What the owner of a session must do with the PDU that was just received.
///
/// A value is in the octets that were received: decode them with ``AttoATT/PDU/init(_:mtu:)``.
public enum SessionAction: Equatable, Sendable {
  /// Nothing.
  case none
  /// Deliver the value of the Handle Value Notification, ``AttoATT/PDU/handleValueNotification(_:)``.
  case notification
  /// Deliver the values of the Multiple Handle Value Notification,
  /// ``AttoATT/PDU/multipleHandleValueNotification(_:)``.
  case notifications
  /// Deliver the value of the Handle Value Indication, ``AttoATT/PDU/handleValueIndication(_:)``, then
  /// call ``Session/confirm()``.
  case indication
  /// Report that the client has confirmed this indication.
  case confirmed(TransactionID)
  /// Raise the link's security, because the peer has refused a request with this code. Then call
  /// ``Session/securityRaised(at:)``, or ``Session/securityNotRaised(at:)`` if it failed. Only if
  /// ``Session/asksForSecurity`` is set.
  case securityWanted(ErrorCode)
  /// Close the link: the bearer has failed, and all operations have ended.
  case failed(BearerFailure)
}
