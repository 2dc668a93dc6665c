import Atto
import AttoStore
import Glibc

// The libraries' hints, with the commands and options to use.

extension AttoError {
  var advice: String? {
    switch self {
    case .pairing(let peer, .keyMissing):
      "remove the bond here too, then pair again: atto unpair \(peer)"
    case .pairing(_, .disagreement(.nothing)), .pairing(_, .disagreement(.accepted)): pairingHint
    case .link(let error)
    where error.operation == .raiseSecurity && error.errno == EACCES
      && error.endpoint.hasPrefix("air:"):
      pairingHint
    case .insufficientSecurity(_, .noDisplayOrKeyboard): pairingHint
    case .insufficientSecurity(_, .link(.low)): "le: and air: links can be encrypted"
    case .insufficientSecurity(_, .timeout(_, after: _, hasAgent: false)):
      "answering the kernel's questions about pairing requires CAP_NET_ADMIN"
    case .securityTimeout, .insufficientSecurity(_, .timeout(_, after: _, hasAgent: true)):
      "both ends need an agent to pair with, and a person may have to confirm"
    case .misuse(.valueTooLong(let count, let limit)) where count <= ValueLimits.longest:
      limit < ValueLimits.longest
        ? "--long writes it in parts; with --mtu \(count + 3) one request may hold it" : nil
    case .connectTimeout: "check that the device is on, in range and connectable"
    case .radio(let error): error.advice
    case .link(let error): error.advice
    default: nil
    }
  }
}

/// For ends that could not agree how to pair.
private let pairingHint =
  "if the peer shows a passkey: --io keyboard; if it wants one entered: --io display; if both show a"
  + " number: --io yes-no"

extension RadioError {
  var advice: String? {
    switch self {
    case .pairing(let peer, .keyMissing):
      "remove the bond here too, then pair again: atto unpair le:\(peer)"
    case .notFound, .ambiguous: "atto scan air: lists the radios on the air"
    case .noAdapter(""): "endpoints that begin with air: need no adapter"
    case .noAdapter: "atto adapters lists the adapters"
    case .addressInUse: "choose another name or address"
    case .folder(let path, .openToOthers(let mode)):
      // Others use a folder with the sticky bit too, such as /tmp.
      mode & 0o1000 == 0
        ? "chmod 700 \(path), or set ATTO_AIR to another folder"
        : "set ATTO_AIR to a folder of your own, such as \(path)/air"
    case .folder: "set ATTO_AIR to another folder"
    case .poweredOff(let name): "atto adapters \(name) --power on"
    case .management(_, .notPowered, _): "atto adapters --power on"
    case .management(_, .blocked, _): "sudo rfkill unblock bluetooth"
    case .management(_, .permissionDenied, _):
      "run atto as root, or once: sudo setcap cap_net_admin+ep \"$(command -v atto)\""
    case .management(_, .alreadyPaired, _), .management(_, .authenticationFailed, _):
      "if one end has lost an earlier bond, remove it at both: atto unpair"
    case .channelRefused(_, _, let refusal): refusal.hint
    case .link(let error): error.advice
    default: nil
    }
  }
}

extension LinkError {
  var advice: String? {
    // Authentication failed, because one end has lost the bond.
    if endpoint.hasPrefix("le:"), errno == EBADE || errno == EACCES {
      return "remove the bond here too, then pair again: atto unpair \(endpoint)"
    }
    return hint
  }
}

extension StoreError {
  var advice: String? {
    switch self {
    case .libraryMissing: hint.map { $0 + ", or use --no-store" }
    case .noPlace, .notAFile, .foreign, .foreignOwner, .writableFolder, .newer, .readOnly:
      hint.map { $0 + " (--store)" }
    case .tooManyBonds: "remove a bond: atto bonds --remove ADDRESS"
    case .damagedRecord: "pair again, or remove it: atto bonds --remove ADDRESS"
    case .noSigningKey:
      "pair first (atto pair), or give --key and --counter; not every peer supports signing"
    case .noAddress: "give --key and --counter"
    default: hint
    }
  }
}

extension DatabaseError {
  var text: String {
    switch self {
    case .handleTaken(let handle): "handle \(handle) is already used, or inside another service"
    case .handleOutOfOrder(let handle): "handle \(handle) is not after the handles before it"
    case .handleOutOfRange(let handle): "handle \(handle) is outside its service"
    case .noHandlesLeft: "no handles are left up to 0xFFFF"
    case .valueTooLong(let handle, let count, let limit):
      "value too long: \(count) octets (the limit of \(handle) is \(limit))"
    case .wrongLength(let handle, let count, let length):
      "wrong length: \(count) octets (the length of \(handle) is fixed at \(length))"
    case .noSuchService(let handle): "no service starts at \(handle)"
    case .included(let handle): "the service is included by the one at \(handle): remove that first"
    case .noSuchValue(let handle): "the server stores no value at \(handle)"
    case .noHandler(let uuid): "the application has no handler for the value \(uuid)"
    }
  }
}
