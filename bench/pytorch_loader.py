"""Shared by the benchmarks of loaders: PyTorch's DataLoader, and the measurement of CPU time."""


def processor_seconds():
    """Returns the CPU time of this process and its children in seconds.

    Includes children that have ended.
    """
    import psutil
    own = psutil.Process()
    times = own.cpu_times()
    children = own.children(recursive=True)
    return sum(times[:4]) + sum(sum(child.cpu_times()[:2]) for child in children)


def pytorch_batches(folder, batch, workers, repeats):
    """Returns an iterator over batches of random crops of 224 pixels, and the number of images in
    the folder.

    `repeats` is a function of the number of images. It returns how many times each image is used.
    """
    from torch.utils.data import ConcatDataset, DataLoader
    from torchvision import transforms
    from torchvision.datasets import ImageFolder
    data = ImageFolder(folder, transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
        transforms.PILToTensor()]))
    return iter(DataLoader(ConcatDataset([data] * repeats(len(data))), batch, shuffle=True,
                           num_workers=workers, drop_last=True)), len(data)
