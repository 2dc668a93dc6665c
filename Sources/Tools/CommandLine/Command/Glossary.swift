/// What holds for every command, for the overview and its manual page.
package enum Glossary {
  package static let endpoints = [
    ("air:NAME, air:ADDRESS", "a simulated radio of a process on this machine"),
    ("le:ADDRESS[/random][@hciN]", "a device in range of the kernel's Bluetooth"),
    ("unix:PATH", "a Unix socket, SOCK_SEQPACKET, one PDU per packet"),
    ("fd:N", "an inherited socket of this kind"),
  ]

  /// The meanings of exit statuses, from 0.
  package static let statuses = [
    "success", "the peer answered with an ATT error", "wrong command line or file",
    "the connection could not be opened, was lost, or timed out", "a check failed",
  ]
}
