import AttoATT
import AttoSMP
import AttoText

/// What somebody has asked for: an image for devices, one after another.
package struct UpdatePlan: Equatable, Sendable, Codable {
  /// Devices of one plan.
  package static let deviceLimit = 256

  /// The name of the image in the folder ``Configuration/firmware``.
  package var file: String
  /// The SHA-256 of the file in hexadecimal digits, lower case; nil: it was not given.
  package var sha256: String?
  /// Those that are left, in order.
  package var devices: [String]
  /// The number of the image, on devices with several.
  package var image = 0
  /// Whether devices are to refuse an image that is not newer than their own.
  package var onlyUpgrade = false
  /// Whether devices start the image, and not only receive it.
  package var starts = true
  /// Whether devices that run the image stay with it.
  package var confirms = true

  package init(file: String, sha256: String? = nil, devices: [String]) {
    (self.file, self.sha256, self.devices) = (file, sha256?.lowercased(), devices)
  }

  /// Reads the image. Blocks on the disk.
  func read(in folder: String) throws(UpdateFault) -> FirmwareImage {
    // A name and no path: who may ask for an update may not read other files.
    guard !file.isEmpty, file.utf8.count <= 255, !file.hasPrefix("."), !file.contains("/"),
      !file.utf8.contains(0)
    else {
      throw .badName
    }
    let image: FirmwareImage
    do {
      image = try FirmwareImage(try FileBytes.read("\(folder)/\(file)", waits: false))
    } catch let failure as FileBytes.Failure {
      throw .unusable(file, failure.reason)
    } catch {
      throw .unusable(file, "\(error)")
    }
    guard sha256 == nil || sha256 == image.fileDigits else {
      throw .wrongHash(file, found: image.fileDigits)
    }
    return image
  }
}

extension FirmwareImage {
  /// The SHA-256 of the file, as sha256sum prints it.
  var fileDigits: String { Hex.text(fileHash).lowercased() }
}

/// How far the update of one device is.
package struct UpdateProgress: Equatable, Sendable {
  package enum Stage: String, Sendable {
    /// Nobody has asked for an update: ``version`` is that of the image in the configuration.
    case idle
    /// Other devices of the plan come first.
    case waiting
    case connecting
    case uploading
    case starting
    /// The device has the image and was not to start it.
    case uploaded
    /// The device runs the image until its next start.
    case tested
    /// The device runs the image.
    case updated
    case failed
    /// The update was cancelled, or another device of the plan has failed.
    case cancelled

    /// Whether nothing more happens.
    package var isEnd: Bool {
      switch self {
      case .waiting, .connecting, .uploading, .starting: false
      case .idle, .uploaded, .tested, .updated, .failed, .cancelled: true
      }
    }
  }

  package let device: String
  package let file: String
  package var stage = Stage.waiting
  /// The version of the image; nil while it was not read.
  package var version: String?
  /// The version that the device has told; nil if it did not.
  package var installed: String?
  /// The octets that the device has, and those of the file.
  package var offset = 0
  package var size = 0
  /// Why it failed, was cancelled, or is not further.
  package var problem: String?

  package init(device: String, file: String) { (self.device, self.file) = (device, file) }

  /// The part that the device has, 0 to 100.
  package var percentage: Int { size > 0 ? offset * 100 / size : 0 }
}

/// Why a plan is not carried out.
package enum UpdateFault: Error, Equatable, Sendable, CustomStringConvertible {
  case noFolder
  case inFleet
  case badName
  case unusable(String, String)
  case wrongHash(String, found: String)
  case noDevice
  case tooManyDevices
  case repeated(String)
  case underWay(String)
  case tooManyPlans(limit: Int)
  case noUpdate(String)
  case noThread

  package var description: String {
    switch self {
    case .noFolder:
      "updates need the key \"firmware\" in the configuration, the folder of the images"
    case .inFleet: "a fleet does not update devices: use \"atto update\""
    case .badName: "expected the name of a file in the folder of images, without \"/\""
    case .unusable(let file, let reason): "\(file): \(reason)"
    case .wrongHash(let file, let found): "\(file) is another file: its SHA-256 is \(found)"
    case .noDevice: "expected at least one device"
    case .tooManyDevices: "too many devices: the limit is \(UpdatePlan.deviceLimit)"
    case .repeated(let device): "\(device) stands twice in the list"
    case .underWay(let device): "\(device) is being updated already"
    case .tooManyPlans(let limit): "too many updates under way: the limit is \(limit)"
    case .noUpdate(let device): "\(device) is not being updated"
    case .noThread: "the system has no thread left"
    }
  }
}
